package org.verbena.verbs;

/**
 * What a device can beyond {@link DeviceAttributes}, as {@code ibv_query_device_ex} tells it; all 0
 * where the device tells nothing.
 *
 * @param capabilities the flags of {@code device_cap_flags_ex}
 * @param onDemandPaging the general flags of {@code ibv_odp_caps}: 1 is explicit regions, 2
 *     implicit
 * @param timestampMask the bits that a completion's timestamp has
 * @param coreClockKilohertz of the device's clock
 * @param maxDeviceMemory bytes of memory on the device that may be allocated
 * @param maxSegmentation bytes of a message that the device cuts into packets by itself
 */
public record ExtendedAttributes(
    long capabilities,
    long onDemandPaging,
    long timestampMask,
    long coreClockKilohertz,
    long maxDeviceMemory,
    int maxSegmentation) {}
