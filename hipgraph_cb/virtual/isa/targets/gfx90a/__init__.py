"""gfx90a: CDNA 2."""
