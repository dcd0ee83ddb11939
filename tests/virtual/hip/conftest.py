"""The virtual runtime, installed once for all tests that call HIP functions through hip-python."""

from __future__ import annotations

import pytest
from support.devices import VIRTUAL_GPUS

from hipgraph_cb.virtual.install import install


@pytest.fixture(scope="session", autouse=True)
def runtime():
    return install(VIRTUAL_GPUS)


@pytest.fixture
def hip():
    from hip import hip as bindings

    bindings.hipDeviceSynchronize()
    yield bindings
    bindings.hipDeviceSynchronize()
    bindings.hipGetLastError()


@pytest.fixture
def program(hip):
    from support.hip_program import Program

    return Program(hip)


@pytest.fixture
def raw(hip):
    """The library as a C program sees it."""
    from support.hip_callers import RawLibrary

    return RawLibrary()


@pytest.fixture
def registered(raw):
    """A fat binary as compiled code registers it: host variables that stand for its kernels and variables."""
    import ctypes

    from support.bundle import bundle_of
    from support.hip_program import CORPUS

    code = (CORPUS.parent / "conformance" / "conformance.gfx942.hsaco").read_bytes()
    bundle = ctypes.create_string_buffer(bundle_of(gfx942=code))
    wrapper = (ctypes.c_uint64 * 3)(1 << 32 | 0x48495046, ctypes.addressof(bundle), 0)
    register = ctypes.CDLL("libamdhip64.so").__getattr__
    register_binary = register("__hipRegisterFatBinary")
    register_binary.restype = ctypes.c_size_t
    handle = register_binary(ctypes.byref(wrapper))
    symbols = {}
    for function, name in (
        ("__hipRegisterVar", b"counter"),
        ("__hipRegisterFunction", b"scale_and_offset"),
        ("__hipRegisterFunction", b"nothing"),
    ):
        place, text = ctypes.c_int(), ctypes.create_string_buffer(name)
        symbols[name.decode()] = ctypes.addressof(place)
        symbols[name] = (place, text)
        register(function)(
            ctypes.c_size_t(handle),
            ctypes.byref(place),
            text,
            text,
            *[ctypes.c_size_t(0)] * (4 if "Var" in function else 6),
        )
    yield symbols
    register("__hipUnregisterFatBinary")(ctypes.c_size_t(handle))
