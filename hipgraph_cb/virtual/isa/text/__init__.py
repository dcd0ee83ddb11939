"""Instructions as text."""
