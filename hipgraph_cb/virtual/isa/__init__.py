"""Decoding and semantics of AMD machine code, one file per instruction format or group."""
