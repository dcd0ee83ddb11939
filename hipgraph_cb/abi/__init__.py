"""Header facts: the layouts and numbers of HIP, HSA, AQL and AMD's file formats, written once.

Backends and virtual libraries use the same ones. Nothing here acts, and nothing else of the package is imported.
"""
