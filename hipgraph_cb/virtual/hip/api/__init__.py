"""The C functions of HIP, by subject."""
