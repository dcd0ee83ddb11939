"""gfx12: RDNA 4."""
