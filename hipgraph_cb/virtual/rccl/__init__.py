"""A virtual librccl, for ranks that are in one process."""
