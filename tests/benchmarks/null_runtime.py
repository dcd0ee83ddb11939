"""A libamdhip64 of machine code that does nothing but hand out handles: what remains is the cost of the caller.

x86-64. A function that makes something writes the next handle through its first argument and returns 0; one that
asks copies a prepared answer; every other function returns 0.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from typing import Any

from hip import hip

from hipgraph_cb.hip.device import HipDevice
from hipgraph_cb.virtual.hip_python import pin_hip_python
from hipgraph_cb.virtual.native_library import NativeLibrary
from hipgraph_cb.virtual.shared_object import ExportedFunction

MARKER = "hipgraph_cb_null_runtime"
MAKERS = (
    "hipGraphAddEmptyNode",
    "hipGraphAddKernelNode",
    "hipGraphAddMemcpyNode1D",
    "hipGraphAddMemsetNode",
    "hipGraphCreate",
    "hipGraphInstantiate",
    "hipMalloc",
    "hipModuleGetFunction",
    "hipModuleLoadData",
    "hipStreamCreateWithFlags",
)
OTHERS = (
    "hipFree",
    "hipGraphDestroy",
    "hipGraphExecDestroy",
    "hipGraphLaunch",
    "hipMemcpy",
    "hipModuleUnload",
    "hipStreamDestroy",
    "hipStreamQuery",
)
GIVE_HANDLE = "48b8{counter} 488b08 48830010 48890f 31c0 c3"
"""mov rax, &counter; mov rcx, [rax]; add qword [rax], 16; mov [rdi], rcx; xor eax, eax; ret"""
GIVE_ANSWER = "48be{answer} b9{size} f3a4 31c0 c3"
"""mov rsi, &answer; mov ecx, size; rep movsb; xor eax, eax; ret"""


class NullRuntime:
    """The library, its code and the memory that the code refers to."""

    def __init__(self) -> None:
        self._counter = ctypes.c_uint64(0x1000)
        self._answers = {"hipGetDeviceCount": struct.pack("<i", 1), "hipGetDevicePropertiesR0600": properties()}
        self._buffers = {
            name: ctypes.create_string_buffer(answer, len(answer)) for name, answer in self._answers.items()
        }
        self._code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        names = (MARKER, *MAKERS, *OTHERS, *self._answers)
        self.library = NativeLibrary(["libamdhip64.so"], [ExportedFunction(name) for name in names])
        give_handle = self._place(GIVE_HANDLE, counter=struct.pack("<Q", ctypes.addressof(self._counter)))
        for name in MAKERS:
            self.library.wire(name, give_handle)
        for name, buffer in self._buffers.items():
            answer = struct.pack("<Q", ctypes.addressof(buffer))
            self.library.wire(name, self._place(GIVE_ANSWER, answer=answer, size=struct.pack("<I", len(buffer))))

    def _place(self, template: str, **values: bytes) -> int:
        """Put machine code into the executable page; returns its address."""
        code = bytes.fromhex(template.format(**{name: value.hex() for name, value in values.items()}))
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._code))
        position = self._code.tell()
        self._code.write(code)
        return start + position


def properties() -> bytes:
    """A hipDeviceProp_t of a gfx942."""
    block = hip.hipDeviceProp_t()
    block.maxThreadsPerBlock, block.warpSize, block.sharedMemPerBlock = 1024, 64, 65536
    raw = bytearray(ctypes.string_at(int(block), block.c_sizeof()))
    # name and gcnArchName cannot be assigned through hip-python, nor can arrays: their places in the R0600 struct
    for offset, value in (
        (0, b"null\0"),
        (1160, b"gfx942:sramecc+:xnack-\0"),
        (324, struct.pack("<3i", 1024, 1024, 1024)),
    ):
        raw[offset : offset + len(value)] = value
    return bytes(raw)


_runtime: list[Any] = []


def open_null_device() -> HipDevice:
    """A device over the null runtime; the process can have no other one."""
    runtime = NullRuntime()
    _runtime.append(runtime)  # machine code that hip-python may call for the rest of the process
    pin_hip_python(runtime.library.paths["libamdhip64.so"], MARKER)
    return HipDevice()
