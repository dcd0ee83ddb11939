"""The table of C types, compared with numpy and with the C types of this machine."""

import ctypes
import struct

import numpy as np
import pytest

from hipgraph_cb.abi.c_types import C_TYPES, FLOAT, SIGNED, UNSIGNED, numpy_type

KINDS = {"b": UNSIGNED, "u": UNSIGNED, "i": SIGNED, "f": FLOAT}


@pytest.mark.parametrize("name", C_TYPES)
def test_a_type_has_the_kind_and_size_of_its_numpy_type_and_struct_letter(name):
    kind, size, numpy_name = C_TYPES[name]
    assert (KINDS[np.dtype(numpy_name).kind], np.dtype(numpy_name).itemsize) == (kind, size)
    assert struct.calcsize("<" + C_TYPES[name].letter) == size
    value = np.array([1], numpy_name).tobytes()
    assert struct.unpack("<" + C_TYPES[name].letter, value) == (1,)


@pytest.mark.parametrize(
    ("name", "native"),
    {
        "short": ctypes.c_short,
        "unsigned int": ctypes.c_uint,
        "long": ctypes.c_long,
        "unsigned long long": ctypes.c_ulonglong,
        "size_t": ctypes.c_size_t,
        "float": ctypes.c_float,
        "double": ctypes.c_double,
    }.items(),
)
def test_a_type_is_as_large_as_on_this_machine(name, native):
    assert C_TYPES[name].size == ctypes.sizeof(native)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("float*", "float32"),
        ("const half*", "float16"),
        ("float4*", "float32"),
        ("unsigned long long*", "uint64"),
        ("struct point*", None),
        ("", None),
        (None, None),
    ],
)
def test_what_a_pointer_points_to_is_named_for_numpy(name, expected):
    assert numpy_type(name) == expected
