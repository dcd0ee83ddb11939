"""The HSA headers: hsa.h, hsa_ext_amd.h, hsa_ven_amd_loader.h, amd_hsa_queue.h, amd_hsa_signal.h."""

SONAME = "libhsa-runtime64.so.1"
"""The name by which programs ask for the runtime."""
