"""A virtual libhsa-runtime64.so.1, one file per subject of the interface."""
