"""Device memory of another library, as both backends take it."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from hipgraph_cb.backend.owned import OwnedBuffer
from hipgraph_cb.errors import FailedPreconditionError, OutOfRangeError
from hipgraph_cb.recording.binding_table import memory_in

if TYPE_CHECKING:
    from hipgraph_cb.foreign.memory import ForeignMemory
    from hipgraph_cb.recording.binding_table import Table
    from hipgraph_cb.runtime.stream import Stream


class ForeignBuffer(OwnedBuffer):
    """It is looked up again each time its address or its bytes are used: the owner may have freed it."""

    is_imported = True

    @property
    def address(self) -> int:
        self._check_open("address")
        self.check_there()
        return self._address

    @property
    def bound_address(self) -> int:
        self.check_there()
        return self._address

    @abstractmethod
    def check_there(self) -> None:
        """Check that the memory still exists, also after `close()`: programs may still use it.

        Raises:
            FailedPreconditionError: its owner freed it.
        """

    def _settle(self, stream: Stream | None = None) -> None:
        self.check_there()
        super()._settle(stream)

    def _gone(self, found: str | None = None) -> FailedPreconditionError:
        return FailedPreconditionError(
            f"{self.describe()} is gone: its owner freed the memory",
            found=found,
            next_step="keep imported memory until the programs that use it are closed",
        )


def check_extent(memory: ForeignMemory, end: int) -> None:
    """Compare the memory with the address at which its allocation ends.

    Raises:
        OutOfRangeError: it reaches past the end.
    """
    if memory.address + memory.size > end:
        raise OutOfRangeError(
            "import_buffer: the memory reaches past the end of its allocation",
            where=memory.name,
            found=f"{memory.size} bytes",
            allowed=f"{end - memory.address} bytes",
        )


def check_bound(table: Table) -> None:
    """Check the memory in slots where another library owns it; raises as `ForeignBuffer.check_there`."""
    for bound in memory_in(table).values():
        if bound.buffer.is_imported:
            bound.buffer.check_there()
