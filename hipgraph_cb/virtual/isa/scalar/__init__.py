"""Scalar instructions and control."""
