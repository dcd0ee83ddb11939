"""Several GPUs of one process as a group: what is loaded, recorded and replayed for all of them together."""
