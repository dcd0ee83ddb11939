"""The HSA-direct backend: recordings as AQL packets, through ctypes over libhsa-runtime64."""
