"""Functions that AMD's libraries export and no header lists by subject; the answers are AMD's, where one is named."""

from __future__ import annotations

import ctypes

import pytest

NO_DEVICE, NOT_SUPPORTED = 100, 801


def native():
    """The library as a C program sees it, whose results are not all codes."""
    return ctypes.CDLL("libamdhip64.so")


class ChannelFormat(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("x", "y", "z", "w", "kind")]


def test_a_channel_format_comes_back_as_a_structure():
    create = native().hipCreateChannelDesc
    create.restype = ChannelFormat
    made = create(8, 9, 10, 11, 2)
    assert [getattr(made, name) for name, _ in made._fields_] == [8, 9, 10, 11, 2]


@pytest.mark.parametrize(("function", "number", "text"), [
    ("hipApiName", 0, b"unknown"), ("hipApiName", 100_000, b"unknown"),
    ("hipGetCmdName", 0, b"InternalMarker"), ("hipGetCmdName", 99, b"Unknown command kind"),
])  # fmt: skip
def test_what_has_no_name_is_called_as_amds_libraries_call_it(function, number, text):
    call = getattr(native(), function)
    call.restype = ctypes.c_char_p
    assert call(number) == text


def test_there_is_no_display(raw):
    count, resource = ctypes.c_uint(7), ctypes.c_void_p()
    assert raw.hipGLGetDevices(count, ctypes.c_int(), 1, 1) == NO_DEVICE
    assert raw.hipGLGetDevices(0, 0, 0, 1) == 1
    assert raw.hipGraphicsGLRegisterBuffer(resource, 1, 0) == NOT_SUPPORTED
    assert raw.hipGraphicsGLRegisterImage(resource, 1, 0x0DE1, 0) == NOT_SUPPORTED
    raw.hipGetLastError()


def test_no_header_is_built_in(raw):
    header, size = ctypes.c_void_p(5), ctypes.c_uint(5)
    raw.__getattr__("__hipGetPCH")(header, size)
    assert (header.value, size.value) == (None, 0)


def test_textures_and_tracers_are_registered_without_effect(raw):
    for name in ("__hipRegisterTexture", "__hipRegisterSurface"):
        getattr(raw, name)(1, 0, b"host", b"device", 2, 0)
    raw.hipRegisterTracerCallback(0)
    assert raw.hipGetLastError() == 0
