"""A C client of libhsa-runtime64, in ctypes: it knows the functions by the header, and nothing else."""

from __future__ import annotations

import ctypes
import struct
import time
from ctypes import c_int, c_int64, c_uint32, c_uint64, c_void_p
from pathlib import Path

import numpy as np

from hipgraph_cb.code_object.hidden_args import LaunchShape, write_hidden
from hipgraph_cb.code_object.verify import inspect

CORPUS = Path(__file__).parent.parent / "fixtures" / "corpus"
FOREVER = (1 << 64) - 1
HandleCallback = ctypes.CFUNCTYPE(c_int, c_uint64, c_void_p)
SymbolCallback = ctypes.CFUNCTYPE(c_int, c_uint64, c_uint64, c_uint64, c_void_p)
ErrorCallback = ctypes.CFUNCTYPE(None, c_int, c_uint64, c_uint64)

# What is passed; a status is returned where nothing else is said.
_VALUES = {"load": c_int64, "wait": c_int64, "exchange": c_int64, "cas": c_int64}


class Library:
    """The functions of the library, callable with plain integers, bytes and ctypes objects."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libhsa-runtime64.so.1")

    def __getattr__(self, name: str):
        function = getattr(self._library, name)
        function.restype = _result_of(name)

        def call(*arguments):
            return function(*(c_uint64(a & FOREVER) if isinstance(a, int) else a for a in arguments))

        setattr(self, name, call)
        return call


def _result_of(name: str):
    words = name.split("_")
    if name.startswith("hsa_signal_") and words[2] in _VALUES:
        return _VALUES[words[2]]
    if name.startswith("hsa_signal_") and words[2] in ("store", "silent", "add", "subtract", "and", "or", "xor"):
        return None
    if name.startswith("hsa_queue_") and "index" in words:
        return None if "store" in words else c_uint64
    if name == "hsa_amd_signal_wait_any":
        return c_uint32
    return c_int


def out(function, *arguments, kind=c_uint64):
    """Call with an out parameter at the end; the status has to be success."""
    value = kind()
    status = function(*arguments, ctypes.byref(value))
    assert status == 0, hex(status)
    return getattr(value, "value", value)


class Client:
    """An initialised library with its first GPU."""

    def __init__(self) -> None:
        self.hsa = Library()
        assert self.hsa.hsa_init() == 0
        self.cpu, self.gpu, *self.others = self.iterate("hsa_iterate_agents")
        self.pools = self.iterate("hsa_amd_agent_iterate_memory_pools", self.gpu)
        self._made: list[tuple[str, int]] = []
        self._keep: list[object] = []

    def let_work_pass(self) -> None:
        """Return when the GPU has been through everything that it could do, several times: what was held is held."""
        queue = self.queue()
        for _ in range(20):
            done = self.signal()
            queue.submit(barrier(completion=done))
            assert self.wait(done) == 0
        queue.destroy()

    def close(self) -> None:
        for release, handle in reversed(self._made):
            getattr(self.hsa, release)(handle)
        assert self.hsa.hsa_shut_down() == 0

    def iterate(self, name: str, *arguments: int) -> list[int]:
        found: list[int] = []
        callback = HandleCallback(lambda handle, _: found.append(handle) or 0)
        assert getattr(self.hsa, name)(*arguments, callback, None) == 0
        return found

    # -- memory ----------------------------------------------------------------------------------------------------

    def allocate(self, size: int, pool: int | None = None) -> int:
        address = out(self.hsa.hsa_amd_memory_pool_allocate, self.pools[0] if pool is None else pool, size, 0)
        self._made.append(("hsa_amd_memory_pool_free", address))
        return address

    def upload(self, array: np.ndarray) -> int:
        address = self.allocate(array.nbytes)
        assert self.hsa.hsa_memory_copy(address, array.ctypes.data, array.nbytes) == 0
        return address

    def read(self, address: int, count: int, dtype) -> np.ndarray:
        array = np.empty(count, dtype)
        assert self.hsa.hsa_memory_copy(array.ctypes.data, address, array.nbytes) == 0
        return array

    # -- signals and queues ----------------------------------------------------------------------------------------

    def signal(self, value: int = 1) -> int:
        handle = out(self.hsa.hsa_signal_create, value, 0, None)
        self._made.append(("hsa_signal_destroy", handle))
        return handle

    def value(self, signal: int) -> int:
        return self.hsa.hsa_signal_load_scacquire(signal)

    def wait(self, signal: int, seconds: float = 20.0) -> int:
        """Wait until the signal is below 1; returns its value."""
        return self.hsa.hsa_signal_wait_scacquire(signal, 2, 1, int(seconds * 100_000_000), 0)

    def queue(self, size: int = 64, gpu: int | None = None) -> Queue:
        return Queue(self, size, self.gpu if gpu is None else gpu)

    # -- executables -----------------------------------------------------------------------------------------------

    def load(self, code: bytes | str, gpu: int | None = None, prepare=lambda hsa, executable: None) -> Module:
        data = (CORPUS / code).read_bytes() if isinstance(code, str) else code
        return Module(self, data, gpu or self.gpu, prepare)


class Module:
    """A frozen executable of one code object."""

    def __init__(self, client: Client, code: bytes, gpu: int, prepare) -> None:
        hsa = client.hsa
        self._client = client
        self._gpu = c_uint64(gpu)
        self.code = ctypes.create_string_buffer(code, len(code))
        self.reader = out(hsa.hsa_code_object_reader_create_from_memory, self.code, len(code))
        client._made.append(("hsa_code_object_reader_destroy", self.reader))
        self.executable = out(hsa.hsa_executable_create_alt, 1, 0, None)
        client._made.append(("hsa_executable_destroy", self.executable))
        prepare(hsa, self.executable)
        self.loaded = out(hsa.hsa_executable_load_agent_code_object, self.executable, gpu, self.reader, None)
        assert hsa.hsa_executable_freeze(self.executable, None) == 0

    def symbol(self, name: str) -> int:
        hsa = self._client.hsa
        return out(hsa.hsa_executable_get_symbol_by_name, self.executable, name.encode(), ctypes.byref(self._gpu))

    def info(self, name: str, attribute: int, kind=c_uint64) -> int:
        return out(self._client.hsa.hsa_executable_symbol_get_info, self.symbol(name), attribute, kind=kind)

    def kernel(self, name: str) -> dict[str, int]:
        """The fields of a packet that the code object decides."""
        return {
            "kernel_object": self.info(f"{name}.kd", 22),
            "group_segment_size": self.info(f"{name}.kd", 13),
            "private_segment_size": self.info(f"{name}.kd", 14),
        }

    def kernargs(self, name: str, grid, workgroup, format: str, *values) -> int:
        """Kernel arguments in device memory, hidden ones included."""
        layout = inspect(self.code.raw).exports[name].layout
        block = bytearray(struct.pack("<" + format, *values).ljust(layout.size, b"\0"))
        write_hidden(block, layout, LaunchShape(grid, workgroup))
        return self._client.upload(np.frombuffer(block, np.uint8))


HANGING = 600
"""Seconds after which a test that waits in vain fails."""


class Queue:
    """A queue and the packets written to it, as a careful program writes them."""

    def __init__(self, client: Client, size: int, gpu: int) -> None:
        self._client = client
        self.errors: list[tuple[int, int, int]] = []
        self._callback = ErrorCallback(lambda *error: self.errors.append(error))
        client._keep.append(self._callback)
        self.address = out(client.hsa.hsa_queue_create, gpu, size, 0, self._callback, 77, FOREVER, FOREVER)
        client._made.append(("hsa_queue_destroy", self.address))
        self.base, self.doorbell, self.size = struct.unpack("<QQI", ctypes.string_at(self.address + 8, 20))

    def destroy(self) -> None:
        self._client._made.remove(("hsa_queue_destroy", self.address))
        assert self._client.hsa.hsa_queue_destroy(self.address) == 0

    @property
    def read_index(self) -> int:
        return self._client.hsa.hsa_queue_load_read_index_scacquire(self.address)

    def submit(self, *packets: bytes) -> int:
        """Write packets, publish their headers and ring once; returns the index of the first."""
        first = self.write(*packets)
        self.ring(first + len(packets) - 1)
        return first

    def write(self, *packets: bytes) -> int:
        first = self._client.hsa.hsa_queue_add_write_index_screlease(self.address, len(packets))
        for index, packet in enumerate(packets, first):
            assert len(packet) == 64
            slot = self.base + index % self.size * 64
            ctypes.memmove(slot + 4, packet[4:], 60)
            ctypes.c_uint32.from_address(slot).value = struct.unpack("<I", packet[:4])[0]
        return first

    def ring(self, index: int) -> None:
        self._client.hsa.hsa_signal_store_screlease(self.doorbell, index)

    def wait_for_error(self, seconds: float = HANGING) -> tuple[int, int, int]:
        deadline = time.monotonic() + seconds
        while not self.errors and time.monotonic() < deadline:
            time.sleep(0.001)
        assert self.errors, "the queue's error callback was not called"
        return self.errors[0]


def dispatch(
    kernarg: int = 0,
    grid=(1, 1, 1),
    workgroup=(64, 1, 1),
    *,
    kernel_object: int = 0,
    group_segment_size: int = 0,
    private_segment_size: int = 0,
    completion: int = 0,
    barrier: bool = False,
    kind: int = 2,
    dimensions: int = 3,
    reserved0: int = 0,
    header_bits: int = 0,
) -> bytes:
    """A kernel dispatch packet. `grid` in work-items."""
    return struct.pack(
        "<HH3HH3IIIQQQQ",
        kind | barrier << 8 | 2 << 9 | 2 << 11 | header_bits,
        dimensions,
        *workgroup,
        reserved0,
        *grid,
        private_segment_size,
        group_segment_size,
        kernel_object,
        kernarg,
        0,
        completion,
    )


def barrier(*signals: int, kind: int = 3, completion: int = 0, bit: bool = False) -> bytes:
    """A barrier-AND (3) or barrier-OR (5) packet."""
    return struct.pack("<HHI5QQQ", kind | bit << 8, 0, 0, *[*signals, 0, 0, 0, 0, 0][:5], 0, completion)


def barrier_value(signal: int, condition: int, value: int, mask: int = -1, completion: int = 0, bit=False) -> bytes:
    """AMD's barrier-value packet."""
    return struct.pack("<HBBIQqqIIQQQ", bit << 8, 2, 0, 0, signal, value, mask, condition, 0, 0, 0, completion)
