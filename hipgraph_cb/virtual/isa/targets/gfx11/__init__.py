"""gfx11: RDNA 3."""
