"""gfx950: CDNA 4."""
