"""What happens outside a workgroup's LDS: a read gives zero, a write is dropped, an atomic does neither.

That is what hardware does, and kernels of real libraries count on it. An access that is partly outside counts as
outside; each address of a two-address instruction counts for itself. Programs that mean to stay inside can have such
accesses refused (see `VirtualSettings.lds_bounds`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.memory.memory_access import Addresses, active_only, spread

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.state import Bits, State

Access = Callable[[NDArray[np.uint8], Addresses], Sequence[NDArray[Any]]]
"""Gets the LDS of all workgroups and a fresh offset into it for each active lane; returns values of those lanes."""


@dataclass
class OutsideLds:
    """The accesses outside LDS that a dispatch has made.

    Attributes:
        are_refused: such an access is a fault.
        lanes: how many there were, each lane of an instruction counted.
        first: what the first one was, as the text of a fault.
    """

    are_refused: bool = False
    lanes: int = 0
    first: str | None = None

    def note(self, state: State, instruction: Instruction, places: Addresses, size: int, outside: Bits) -> None:
        """Count the lanes of `outside` ([waves, lanes], as `places`).

        Raises:
            DeviceFault: they are refused.
        """
        if self.are_refused or self.first is None:
            address = int(places[outside].flat[0])
            what = f"{size} bytes at LDS address {address:#x}, outside the workgroup's {state.lds_size} bytes of LDS"
            fault = state.fault(instruction, what, lanes=outside, addresses=places)
            if self.are_refused:
                raise fault
            self.first = str(fault)
        self.lanes += int(np.count_nonzero(outside))


def access_lds(
    state: State, instruction: Instruction, address: NDArray[Any], offset: int, size: int, access: Access
) -> list[NDArray[Any]]:
    """Do `access` for the active lanes whose `size` bytes at `address` + `offset` are in their workgroup's LDS.

    Args:
        address: unsigned, or int64; broadcasts to [waves, lanes].

    Returns:
        What `access` does, each [waves, lanes] with 0 in active lanes that are outside; empty when no lane is active.

    Raises:
        DeviceFault: a lane is outside, and that is refused.
    """
    selected = active_only(state, address).astype(np.int64)
    if not selected.size:
        return []
    if int(selected.min()) + offset >= 0 and int(selected.max()) + offset + size <= state.lds_size:
        values = access(state.lds.reshape(-1), _placed(state, selected, offset))
        return [_spread(state, value) for value in values]
    places = state.full(np.add(address, offset, dtype=np.int64))
    inside = (places >= 0) & (places <= state.lds_size - size)
    state.outside_lds.note(state, instruction, places, size, ~inside & state.active_bits())
    with state.narrowed(inside):
        selected = active_only(state, state.full(address)).astype(np.int64)
        values = access(state.lds.reshape(-1), _placed(state, selected, offset))
        return [np.where(inside, _spread(state, value), value.dtype.type(0)) for value in values]


def _placed(state: State, selected: Addresses, offset: int) -> Addresses:
    """Byte offsets into the LDS of all workgroups; one-dimensional unless every lane is active."""
    if state.active is None:
        placed = selected + (state.lds_rows + offset)
        return placed if placed.shape == state.shape else np.array(state.full(placed), order="C")
    rows: Addresses = state.lds_rows.ravel().take(state.active_lanes >> state.lane_bits)
    return rows + (selected + offset)


def _spread(state: State, values: NDArray[Any]) -> NDArray[Any]:
    return values.reshape(state.shape) if state.active is None else spread(state, values)
