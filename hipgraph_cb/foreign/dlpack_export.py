"""Giving our memory away as a DLPack capsule.

A consumer calls the deleter of a capsule from any thread, with or without Python, and also after the interpreter has
ended. So the deleter is machine code that writes a zero into the struct, and the memory is given up by the next call
that looks: an export, an allocation, or the closing of a device. What nobody took is known by its capsule, which nobody
else holds any more.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from hipgraph_cb.errors import UnavailableError
from hipgraph_cb.foreign.dlpack import CODES, CODES_BY_NAME, MAJOR_VERSION, DataType, Tensor, Unversioned, Versioned

if TYPE_CHECKING:
    import numpy as np

HOST = (1, 0)
NO_ORDER = -1
# mov qword [rdi + AT], 0; ret   and   str xzr, [x0, AT]; ret
_STORE_ZERO: dict[str, Callable[[int], bytes]] = {
    "x86_64": lambda at: bytes((0x48, 0xC7, 0x47, at, 0, 0, 0, 0, 0xC3)),
    "aarch64": lambda at: (0xF900001F | (at // 8) << 10).to_bytes(4, "little") + (0xD65F03C0).to_bytes(4, "little"),
}


class _Export(NamedTuple):
    """Memory that was given away: its capsule, the block of C memory with its struct, and what keeps the memory."""

    capsule: Any
    block: int
    manager: int
    keep: object


_exports: deque[_Export] = deque()


def export(
    array: Any,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """The capsule that `__dlpack__` returns; see there for the arguments and errors."""
    sweep()
    here = array.__dlpack_device__()
    if dl_device is not None and tuple(dl_device) == HOST:
        if copy is False:
            raise BufferError("device memory has to be copied to be read on the host")
        return array.to_host().__dlpack__(max_version=max_version)
    if dl_device is not None and tuple(dl_device) != here:
        raise BufferError(f"the memory is on device {here}, not on {tuple(dl_device)}")
    if copy:
        raise BufferError("copies are made on the host only: ask for device (1, 0)")
    if stream != NO_ORDER:
        array.buffer._settle()
    shape, element = array._array_interface()
    return _capsule(array, shape, data_type(element), max_version is not None and max_version[0] >= MAJOR_VERSION)


def data_type(element: np.dtype[Any]) -> DataType:
    """What DLPack calls an element type.

    Raises:
        BufferError: it has no name for it.
    """
    code = CODES_BY_NAME.get(element.name, CODES.get(element.kind))
    if code is None or not element.isnative:
        raise BufferError(f"DLPack has no name for {element}")
    return DataType(code, 8 * element.itemsize, 1)


def sweep() -> None:
    """Give up what consumers have released, and what was never taken."""
    for _ in range(len(_exports)):
        try:
            each = _exports.popleft()  # no other thread has it now
        except IndexError:  # other threads sweep too
            return
        released = not ctypes.c_void_p.from_address(each.manager).value
        if released or _is_abandoned(each):
            _free(each.block)
        else:
            _exports.append(each)


def _is_abandoned(export: _Export) -> bool:
    """Whether nobody but this module holds a capsule that was not consumed: `export` and the argument count as two."""
    return (
        _capsule_name(export.capsule) in (b"dltensor", b"dltensor_versioned") and sys.getrefcount(export.capsule) == 2
    )


def _capsule(array: Any, shape: tuple[int, ...], element: DataType, versioned: bool) -> Any:
    kind = Versioned if versioned else Unversioned
    extents = ctypes.c_int64 * max(len(shape), 1)
    # C memory, which outlives this module at the end of the process.
    block = _allocate(ctypes.sizeof(kind) + 2 * ctypes.sizeof(extents))
    managed = kind.from_address(block)
    sizes = extents.from_address(block + ctypes.sizeof(kind))
    strides = extents.from_address(block + ctypes.sizeof(kind) + ctypes.sizeof(extents))
    step = 1
    for axis in reversed(range(len(shape))):
        sizes[axis], strides[axis] = shape[axis], step
        step *= shape[axis]
    device = array.__dlpack_device__()
    managed.tensor = Tensor(array.address, device, len(shape), element, sizes, strides, 0)
    managed.manager = block
    managed.deleter = _deleter(kind.manager.offset)
    if versioned:
        managed.major, managed.minor, managed.flags = MAJOR_VERSION, 0, 0
    capsule = _new_capsule(block, b"dltensor_versioned" if versioned else b"dltensor", None)
    _exports.append(_Export(capsule, block, block + kind.manager.offset, array.buffer._keep("__dlpack__")))
    return capsule


@cache
def _deleter(at: int) -> int:
    """The address of a C function that writes zero to eight bytes, `at` bytes into what its argument points to.

    Raises:
        UnavailableError: a processor that we have no code for, or a system that allows no new code.
    """
    make = _STORE_ZERO.get(os.uname().machine)
    if make is None:
        raise UnavailableError("__dlpack__: no deleter for this processor", found=os.uname().machine)
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError as error:
        raise UnavailableError("__dlpack__: the system allows no machine code here", found=str(error)) from error
    page.write(make(at))
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    _incref(page)  # consumers may call it until the process ends
    return address


_incref = ctypes.pythonapi.Py_IncRef
_incref.argtypes, _incref.restype = (ctypes.py_object,), None
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.argtypes, _new_capsule.restype = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p), ctypes.py_object
_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.argtypes, _capsule_name.restype = (ctypes.py_object,), ctypes.c_char_p
_allocate = ctypes.pythonapi.PyMem_RawMalloc
_allocate.argtypes, _allocate.restype = (ctypes.c_size_t,), ctypes.c_void_p
_free = ctypes.pythonapi.PyMem_RawFree
_free.argtypes, _free.restype = (ctypes.c_void_p,), None
