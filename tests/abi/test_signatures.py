"""Both sides of the HSA library, the backend that calls it and the virtual one, agree on what crosses the border."""

import ctypes
from importlib import import_module
from pkgutil import iter_modules

import pytest

from hipgraph_cb.hsa.functions import FUNCTIONS
from hipgraph_cb.virtual.hsa import api
from hipgraph_cb.virtual.hsa.function_table import FUNCTIONS as EXPORTED

for found in iter_modules(api.__path__):
    import_module(f"{api.__name__}.{found.name}")


def size(kind):
    return 0 if kind is None else ctypes.sizeof(kind)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_arguments_and_a_result_of_the_same_sizes_on_both_sides(name):
    called, answered = FUNCTIONS[name], EXPORTED[name]
    assert list(map(size, called.arguments)) == list(map(size, answered.arguments))
    assert size(called.result) == size(answered.result)
