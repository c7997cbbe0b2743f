"""Writes the captures that ReplayTest replays, and what NumPy computes from the definition."""

import os
import sys

import numpy as np

RANKS, HIDDEN, EXPERTS, TOPK = 3, 16, 5, 2
COUNTS = [4, 0, 3]
PLACEMENT = np.array([2, 0, 2, 1, 2], dtype=np.int32)


def bf16_bits(x):
    """The bits of the nearest bf16, ties to even."""
    u = x.astype(np.float32).view(np.uint32)
    return ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)


def number(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def expected(x, topk, weights):
    """The results in double precision, and how far two roundings to bf16 per rank may lead."""
    total = np.zeros(x.shape)
    bound = np.zeros(x.shape)
    for token in range(len(x)):
        of_rank = {}
        for expert, weight in zip(topk[token], weights[token]):
            if expert >= 0:
                y = number(bf16_bits(x[token] * np.float32(1 + (expert % 7) / 8)))
                rank = PLACEMENT[expert]
                of_rank[rank] = of_rank.get(rank, 0) + np.float64(weight) * y
        for part in of_rank.values():
            total[token] += part
            bound[token] += np.abs(part) / 256
        bound[token] += np.abs(total[token]) / 256
    return total.astype(np.float32), bound.astype(np.float32)


directory = sys.argv[1]
rng = np.random.default_rng(1)
np.save(os.path.join(directory, "placement.npy"), PLACEMENT)
for rank, n in enumerate(COUNTS):
    x = rng.normal(size=(n, HIDDEN)).astype(np.float32)
    topk = rng.integers(0, EXPERTS, size=(n, TOPK))
    if n:
        topk[n - 1] = -1
        topk[0, 0] = -1
    weights = np.abs(rng.normal(size=(n, TOPK))).astype(np.float32)
    stored = [bf16_bits(x), x, x.astype(np.float16)][rank]
    value = number(stored) if rank == 0 else number(bf16_bits(stored))
    total, bound = expected(value, topk, weights)
    arrays = {
        "x": stored,
        "topk": topk.astype(np.int32 if rank == 0 else np.int64),
        "weights": weights,
        "expected": total,
        "bound": bound,
    }
    for name, array in arrays.items():
        np.save(os.path.join(directory, f"rank{rank}.{name}.npy"), array)
