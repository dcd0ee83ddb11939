"""Ranks of channels on HSA: our own kernels, on memory of all ranks, and the packets round them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.collectives.launches import RankLaunch, code_object_for, launch_of, launch_of_pair, most_workgroups
from hipgraph_cb.collectives.operations import PAIRED, RECEIVE, Collective
from hipgraph_cb.errors import UnavailableError, UnimplementedError
from hipgraph_cb.hsa.executable import KernelCode, find_kernel, load_code
from hipgraph_cb.hsa.meetings import Call, Clique, Meeting
from hipgraph_cb.hsa.memory import HostMemory
from hipgraph_cb.hsa.packets import COMPLETION, FIRST_DEPENDENCY
from hipgraph_cb.recording.commands import Location
from hipgraph_cb.runtime.channel import Rank

if TYPE_CHECKING:
    from hipgraph_cb.backend.lifetime import Handle
    from hipgraph_cb.hsa.device import HsaDevice
    from hipgraph_cb.hsa.instances import Instance
    from hipgraph_cb.hsa.packet_template import CollectivePackets, PacketTemplate

Place = Callable[[Location, str], int]
"""The device address of memory that a command works on, which messages call by the text."""


class HsaRank(Rank):
    """A rank with the kernels of collectives on its device.

    Args:
        clique: that of all ranks of the channel.
    """

    def __init__(self, device: HsaDevice, clique: Clique, number: int, size: int, label: str | None) -> None:
        super().__init__(number, size, label)
        self._device = device
        self.clique = clique
        self._verified = code_object_for(device.target)
        self._code: Handle | None = load_code(device.api, device.agent, self._verified.data, self.describe())
        self._kernels: dict[str, KernelCode] = {}

    @property
    def device(self) -> HsaDevice:
        return self._device

    def held(self, action: str) -> Handle:
        """What must stay as long as the rank is used. Raises FailedPreconditionError where it is closed."""
        if self._closed or self._code is None:
            raise self._closed_error(action)
        return self._code

    def kernel(self, name: str) -> KernelCode:
        """What packets need to know of a kernel, asked for once."""
        known = self._kernels.get(name)
        if known is None:
            native = self.held("program").native
            export = self._verified.exports[name]
            known = find_kernel(self._device.api, self._device.agent, native, export, f"kernel {name}")
            self._kernels[name] = known
        return known

    def launch(self, operation: Collective) -> RankLaunch | None:
        """What this rank launches for an operation; None where others do all of it."""
        most = most_workgroups(self._device.agent.compute_units)
        if operation.kind in PAIRED:
            return launch_of_pair(operation.block, most) if operation.kind == RECEIVE else None
        return launch_of(operation, self.number, self.size, most)

    def _release(self) -> None:
        self._code = None


def connect(devices: Sequence[HsaDevice], label: str | None) -> list[HsaRank]:
    """A rank on each of some devices, all connected with each other.

    Raises:
        UnavailableError: a device does not reach the memory of another one, or there are no kernels for it.
        HsaError: the runtime refused; nothing is left.
    """
    for one in devices:
        for other in devices:
            if not one.can_access(other):
                raise UnavailableError(
                    "channel: a device does not reach the memory of another one",
                    found=f"{one.describe()} and {other.describe()}",
                    allowed="devices with peer access to each other",
                    next_step="open them with backend='hip', where RCCL finds other ways",
                )
    first, agents = devices[0], [device.agent.handle for device in devices]
    api, agent = first.api, first.agent
    clique = Clique(api, len(devices), lambda where, size: HostMemory(api, agent, where, size, agents))
    ranks: list[HsaRank] = []
    try:
        for number, device in enumerate(devices):
            ranks.append(HsaRank(device, clique, number, len(devices), label))
    except BaseException:
        for rank in ranks:
            rank.close()
        raise
    return [rank.device._adopt(rank) for rank in ranks]


class LaunchMeetings:
    """The operations of one launch: its ranks have come to them, and its packets name their signals and tables.

    Args:
        ranks: by resource id.
        place: where memory is.

    Raises:
        The errors of `Clique.join`.
    """

    def __init__(self, template: PacketTemplate, ranks: Mapping[int, HsaRank], place: Place) -> None:
        self._joined: list[tuple[CollectivePackets, HsaRank, Meeting, Call]] = []
        with self.withdrawn_on_error():
            for packets in template.collectives:
                self._join(packets, ranks[packets.channel], place, template.where(packets.arrive))

    def _join(self, packets: CollectivePackets, rank: HsaRank, place: Place, where: str) -> None:
        operation = packets.operation
        source, target = (0 if end is None else place(end, where) for end in (operation.source, operation.target))
        call = Call(operation.collective, source, target)
        meeting = rank.clique.join(rank.number, call, where)
        self._joined.append((packets, rank, meeting, call))

    @contextmanager
    def withdrawn_on_error(self) -> Iterator[None]:
        """Where nothing was enqueued, the ranks have not come."""
        try:
            yield
        except BaseException:
            self._withdraw()
            raise

    def _withdraw(self) -> None:
        for _, rank, meeting, call in reversed(self._joined):
            rank.clique.withdraw(rank.number, meeting, call)

    def write(self, instance: Instance) -> None:
        """Let the packets of an instance name the signals, and the arguments of its kernels the tables."""
        for packets, _, meeting, _ in self._joined:
            instance.bodies[packets.arrive, COMPLETION] = meeting.arrived.native
            instance.bodies[packets.wait, FIRST_DEPENDENCY] = meeting.arrived.native
            instance.bodies[packets.finish, COMPLETION] = meeting.done.native
            instance.bodies[packets.leave, FIRST_DEPENDENCY] = meeting.done.native
            if packets.launch is not None:
                block = np.frombuffer(packets.launch.arguments(meeting.table.address), np.uint8)
                instance.memory.bytes[packets.kernarg : packets.kernarg + len(block)] = block

    @property
    def signals(self) -> list[Handle]:
        """Those that nobody may wait for in vain when the queue is given up."""
        return [signal for _, _, meeting, _ in self._joined for signal in (meeting.arrived, meeting.done)]

    @property
    def handles(self) -> list[Handle]:
        """What must live until the launch is done."""
        return [handle for _, _, meeting, _ in self._joined for handle in meeting.handles]


def check_reachable(buffer: object, where: str) -> None:
    """Refuse memory that the other devices have no access to."""
    if getattr(buffer, "is_imported", False) or getattr(buffer, "is_global", False):
        raise UnimplementedError(
            "collective: the other ranks do not reach this memory",
            where=where,
            found="memory of another library" if getattr(buffer, "is_imported", False) else "a global variable",
            allowed="buffers and host buffers of the device",
            next_step="copy it into a buffer of the device first",
        )
