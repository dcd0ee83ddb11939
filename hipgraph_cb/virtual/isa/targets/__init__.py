"""What belongs to a family of targets: encodings and tables."""
