"""DWARF, as compilers write it with `-g`: from an address to source lines, from a kernel to its parameters.

A reader of its own, for versions 2 to 5, since debug information comes out of files like everything else here: no count
in it decides how long anything takes, and what is malformed is an error with a place.
"""
