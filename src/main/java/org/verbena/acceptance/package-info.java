/**
 * The procedure by which an expert-parallel exchange is accepted: recognisable input, every
 * received row and every result checked against a reference that shares no code with the exchange.
 */
@NullMarked
package org.verbena.acceptance;

import org.jspecify.annotations.NullMarked;
