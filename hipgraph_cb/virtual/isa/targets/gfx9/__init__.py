"""gfx9 with wave64: gfx942."""
