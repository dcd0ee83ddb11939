"""The HIP graph backend, over hip-python."""
