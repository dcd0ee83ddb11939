"""Vector arithmetic and moves between lanes."""
