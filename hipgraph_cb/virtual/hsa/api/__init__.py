"""The C functions of HSA, by subject."""
