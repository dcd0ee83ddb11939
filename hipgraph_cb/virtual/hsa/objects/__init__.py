"""What exists in the virtual HSA runtime: agents, queues, signals, executables, memory."""
