"""Memory of the host in recordings."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from hipgraph_cb.runtime.buffer import Buffer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class HostBuffer(Buffer):
    """Page-locked memory of the host, which the device reads and writes in place. It can be given where a buffer can: a
    copy to it inside a recording brings results back without a further call.
    """

    kind = "host buffer"
    is_host = True

    @property
    @abstractmethod
    def array(self) -> NDArray[np.uint8]:
        """The memory itself, one-dimensional; `array.view(dtype)` has another element type.

        It waits for nothing: synchronize before reading what a replay writes, and before writing what one still reads.
        The memory stays for as long as the array does, also after `close()`.

        Raises:
            FailedPreconditionError: the buffer is closed.
        """
