"""Recordings as files: save, load, replay, compare."""
