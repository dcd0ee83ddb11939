"""What exists in the virtual HIP runtime: streams, graphs, modules, memory."""
