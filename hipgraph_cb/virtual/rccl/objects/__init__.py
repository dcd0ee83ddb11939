"""What exists in the virtual librccl between calls."""
