"""What a user holds: devices, buffers, executables, programs, streams and events, whatever the backend."""
