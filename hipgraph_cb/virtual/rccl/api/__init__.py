"""The functions of the virtual librccl, by subject."""
