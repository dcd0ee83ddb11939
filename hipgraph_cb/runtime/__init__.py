"""What a user holds: devices, buffers, executables, programs, streams and events, the same for every backend."""
