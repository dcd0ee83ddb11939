"""The HIP headers: hip_runtime_api.h and driver_types.h."""
