"""Device memory, local memory and private memory."""
