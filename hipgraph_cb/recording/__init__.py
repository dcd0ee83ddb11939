"""Calls become a `Recording`. Pure: no backend is imported here."""
