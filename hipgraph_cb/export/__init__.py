"""A recording as text for people and tools."""
