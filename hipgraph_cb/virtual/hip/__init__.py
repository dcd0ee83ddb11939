"""A virtual libamdhip64, by subject."""
