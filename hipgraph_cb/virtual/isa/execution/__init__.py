"""Running kernels: code as basic blocks, the scheduler of waves, and which instructions there are."""
