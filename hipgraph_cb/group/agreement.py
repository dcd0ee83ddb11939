"""Whether a code object runs on every device that it is to be loaded for, found out before anything is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hipgraph_cb.code_object.container import read_container
from hipgraph_cb.code_object.formats import support
from hipgraph_cb.code_object.verify import verify
from hipgraph_cb.errors import IncompatibleError

if TYPE_CHECKING:
    from hipgraph_cb.runtime.device import Device

Member = tuple[int, "Device"]
"""The number of a device in its group, and the device."""


def check_runs_on_all(data: bytes, members: Sequence[Member]) -> None:
    """Verify a code object for each of some members, which may be of different targets: of a fat binary each gets its
    own code object.

    Raises:
        IncompatibleError: it does not run on all; every member is listed with its instruction set and what differs.
        HipGraphError: malformed, or beyond a device's limits; see `code_object.verify.verify`.
    """
    reasons = {number: support(data, device.isas).reason for number, device in members}
    refused = [number for number, reason in reasons.items() if reason is not None]
    if refused and read_container(data).code_objects():
        runs = [number for number in reasons if number not in refused]
        raise IncompatibleError(
            "load: the code does not run on every device that it is loaded for",
            found=f"it runs on {_listed(runs) if runs else 'none of them'}, and not on {_listed(refused)}",
            allowed="code for each of the devices",
            next_step="build a fat binary with code for each target" + (f", or give devices={runs}" if runs else ""),
            detail="\n".join(f"  {name_of(*each)}: {reasons[each[0]] or 'runs'}" for each in members),
        )
    for _, device in members:
        verify(data, target=device.target, limits=device.limits)


def name_of(number: int, device: Device) -> str:
    """How messages call a member, with the instruction set that it runs."""
    return f"member {number} ({device.describe()}, {device.target})"


def _listed(numbers: Sequence[int]) -> str:
    return f"member{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"
