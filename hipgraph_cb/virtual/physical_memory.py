"""Device memory without an address: a file in memory, which may be mapped at any number of addresses."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os

from hipgraph_cb.errors import InvalidArgumentError, ResourceExhaustedError

_FIXED = 0x10  # MAP_FIXED
_FAILED = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long),
)  # fmt: skip


class PhysicalMemory:
    """`size` bytes behind a file descriptor. They last until `close` and until the last mapping is gone."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self.size = size
        self.identity = identity_of(descriptor)

    @classmethod
    def create(cls, size: int, fresh: int, most_filled: int) -> PhysicalMemory:
        """New memory, filled with the byte `fresh`, or only so many bytes of it.

        Raises:
            ResourceExhaustedError: the system gives no file in memory.
        """
        try:
            descriptor = os.memfd_create("hipgraph_cb memory", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        except OSError as error:
            raise ResourceExhaustedError(
                "there is no file in memory for memory without an address",
                found=str(error),
                next_step="allow more open files (ulimit -n): each such piece of memory is one",
            ) from error
        os.ftruncate(descriptor, size)
        # Whoever maps an exported file must not find that it has shrunk.
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        with mmap.mmap(descriptor, min(size, most_filled)) as pages:
            pages.write(bytes((fresh,)) * len(pages))
        return cls(descriptor, size)

    @classmethod
    def imported(cls, descriptor: int) -> PhysicalMemory:
        """The memory that another process exported.

        Raises:
            InvalidArgumentError: the file is not memory of a virtual GPU.
        """
        if not _keeps_its_size(descriptor):
            raise InvalidArgumentError(
                "this is not memory of a virtual GPU",
                found=f"file descriptor {descriptor}",
                allowed="a file descriptor that a virtual GPU exported",
            )
        return cls(os.dup(descriptor), os.fstat(descriptor).st_size)

    def exported(self) -> int:
        """A new file descriptor of this memory, which its user closes."""
        return os.dup(self._descriptor)

    def map_at(self, address: int, size: int, offset: int) -> None:
        """Put these bytes in place of the pages at `address`."""
        _map(address, size, mmap.MAP_SHARED, self._descriptor, offset)

    def close(self) -> None:
        """Give the memory back, once it is mapped nowhere."""
        os.close(self._descriptor)


def _keeps_its_size(descriptor: int) -> bool:
    """It is a file in memory that cannot shrink."""
    if descriptor < 0:
        return False
    try:
        return bool(fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK)
    except OSError:
        return False


def put_empty_pages(address: int, size: int) -> None:
    """Put pages that nobody shares in place of those at `address`."""
    _map(address, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)


def identity_of(descriptor: int) -> tuple[int, int] | None:
    """The same for all descriptors of one file; None where there is no such descriptor."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _map(address: int, size: int, flags: int, descriptor: int, offset: int) -> None:
    access = mmap.PROT_READ | mmap.PROT_WRITE
    if _libc.mmap(address, size, access, flags | _FIXED, descriptor, offset) == _FAILED:
        raise ResourceExhaustedError(
            f"{size} bytes cannot be mapped at {address:#x}", found=os.strerror(ctypes.get_errno())
        )
