"""Page-locked memory of the host, as both backends have it: the host reaches it without a call of the runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hipgraph_cb.backend.owned import OwnedBuffer
from hipgraph_cb.runtime.host_buffer import HostBuffer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hipgraph_cb.backend.lifetime import Handle


class LockedBuffer(OwnedBuffer, HostBuffer):
    """Its address is the same for host and device."""

    @property
    def array(self) -> NDArray[np.uint8]:
        return _Held(self._address, self._size, self.held("array")).array()

    def _copy(self, address: int, host: NDArray[np.uint8], keep: Handle, to_host: bool) -> None:
        memory = _Held(address, host.nbytes, keep).array()
        if to_host:
            host[:] = memory
        else:
            memory[:] = host


class _Held:
    """Memory as numpy takes it. An array of it keeps this object, and so the memory."""

    def __init__(self, address: int, size: int, handle: Handle) -> None:
        self._handle = handle
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
        }

    def array(self) -> NDArray[np.uint8]:
        import numpy

        return numpy.asarray(self)


def host_buffer_to_be(size: int, label: str | None) -> str:
    """How messages call one that is being allocated."""
    return f"a host buffer of {size} bytes" if label is None else f"host buffer `{label}` of {size} bytes"
