"""What belongs to one family of processors: encodings, names, limits, and how its waves start."""
