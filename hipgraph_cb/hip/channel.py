"""Ranks of channels on HIP: RCCL's communicators, and their operations as nodes of graphs or calls on streams."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from hipgraph_cb.abi.hip.enums import STREAM_NON_BLOCKING
from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.collectives.operations import RECEIVE, SEND
from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.hip.api import bindings, pointer_to
from hipgraph_cb.hip.dependencies import DependencyArray
from hipgraph_cb.hip.queue import Queue
from hipgraph_cb.hip.rccl import RcclApi, call_of
from hipgraph_cb.recording.commands import Operation
from hipgraph_cb.recording.commands.places import Range
from hipgraph_cb.runtime.channel import Rank

if TYPE_CHECKING:
    from hipgraph_cb.hip.device import HipDevice
    from hipgraph_cb.recording.commands import Location

Place = Callable[["Location"], tuple[int, int]]
"""Where memory is: device address, and length in bytes."""


class HipRank(Rank):
    """A communicator of RCCL. It goes when it is closed (or collected) and no program holds its handle."""

    def __init__(
        self, device: HipDevice, rccl: RcclApi, native: int, number: int, size: int, label: str | None
    ) -> None:
        super().__init__(number, size, label)
        self._device = device
        self._rccl = rccl
        self._native = native
        self._lock = threading.Lock()
        self._communicator: Handle | None = None
        self._stream: Handle | None = None

    @property
    def device(self) -> HipDevice:
        return self._device

    def own(self) -> None:
        """From now on the communicator goes with the rank and its programs."""
        self._communicator = Handle(self._rccl, self._native, "ncclCommDestroy")

    def stream(self) -> Handle:
        """A stream for captures and for nothing else."""
        handle, self._stream = self._stream, None
        if handle is None:
            native = self._device.api.call("hipStreamCreateWithFlags", STREAM_NON_BLOCKING)
            handle = Handle(self._device.api, native, "hipStreamDestroy")
        return handle

    def held(self, action: str) -> Handle:
        """What must stay as long as the rank is used. Raises FailedPreconditionError where it is closed."""
        communicator = self._communicator
        if self._closed or communicator is None:
            raise self._closed_error(action)
        return communicator

    def enqueue(self, operations: Sequence[Operation], place: Place, stream: Any) -> None:
        """Enqueue operations on a stream, several as one group.

        Raises:
            RcclError: RCCL refused one; none of a group is enqueued then.
            UnimplementedError: RCCL has none like it.
        """
        calls = []
        for each in operations:
            source, target = (0 if end is None else place(end)[0] for end in (each.source, each.target))
            calls.append(call_of(each.collective, source, target))
        last = ctypes.c_void_p(self._native), ctypes.c_void_p(int(stream))
        if len(calls) == 1:
            self._rccl.call(calls[0][0], *calls[0][1], *last)
            return
        with _group(self._rccl):
            for name, arguments in calls:
                self._rccl.call(name, *arguments, *last)

    def add_node(self, graph: Any, pointer: Any, count: int, operations: Sequence[Operation], place: Place) -> int:
        """Capture operations into a graph, behind `count` nodes; returns the node that is behind them all.

        The caller holds what `held` gave.

        Raises:
            The errors of `enqueue`; HipError.
        """
        api = self._device.api
        with self._lock:
            ends = self._capture(graph, pointer, count, operations, place)
        if len(ends) == 1:
            return ends[0]
        array = DependencyArray()
        return int(api.call("hipGraphAddEmptyNode", graph, array.write(ends), len(ends)))

    def _capture(
        self, graph: Any, pointer: Any, count: int, operations: Sequence[Operation], place: Place
    ) -> list[int]:
        """The nodes that whatever is captured next would depend on. A stream whose capture failed is not used again."""
        api, mode = self._device.api, bindings().hipStreamCaptureMode.hipStreamCaptureModeRelaxed
        handle = self.stream()
        stream = handle.native
        api.call("hipStreamBeginCaptureToGraph", stream, graph, pointer, None, count, mode)
        try:
            self.enqueue(operations, place, stream)
            ends = self._ends(stream)
        except BaseException:
            with suppress(HipGraphError):  # what went wrong before is on its way
                api.call("hipStreamEndCapture", stream)
            raise
        api.call("hipStreamEndCapture", stream)
        self._stream = handle
        return ends

    def _ends(self, stream: Any) -> list[int]:
        out = ctypes.c_void_p()
        where = pointer_to(ctypes.addressof(out))
        _status, _number, _graph, count = self._device.api.call("hipStreamGetCaptureInfo_v2", stream, where)
        return list((ctypes.c_size_t * count).from_address(out.value)) if count and out.value else []

    def _release(self) -> None:
        self._communicator = self._stream = None


def connect(devices: Sequence[HipDevice], label: str | None) -> list[HipRank]:
    """A rank on each of some devices, all connected with each other.

    Raises:
        UnavailableError: RCCL is missing.
        RcclError, HipError: it refused; nothing is left.
    """
    apis = [RcclApi(device.api) for device in devices]
    count = len(devices)
    natives = (ctypes.c_void_p * count)()
    ordinals = (ctypes.c_int * count)(*[device.ordinal for device in devices])
    devices[0].api.make_current()
    apis[0].call("ncclCommInitAll", natives, ctypes.c_int(count), ordinals)
    ranks = [
        HipRank(device, rccl, native or 0, number, count, label)
        for number, (device, rccl, native) in enumerate(zip(devices, apis, natives, strict=True))
    ]
    with ExitStack() as until_then:
        try:
            _connect_pairs(apis[0], ranks, until_then)
        except BaseException:
            for rccl, native in zip(apis, natives, strict=True):  # else it would be waited for what others did not send
                rccl.release("ncclCommAbort", native)
            raise
    for rank in ranks:
        rank.own()
    return [rank.device._adopt(rank) for rank in ranks]


def _connect_pairs(rccl: RcclApi, ranks: Sequence[HipRank], until_then: ExitStack) -> None:
    """Send a byte between any two ranks. RCCL connects two at the first send, and waits there for the other one.

    Args:
        until_then: gets what has to be released when nothing is under way any more.
    """
    count = len(ranks)
    if count == 1:
        return
    queues, buffers = [], []
    for rank in ranks:
        rank.device.api.make_current()
        handle = rank.stream()
        until_then.callback(handle.release)
        queues.append(Queue(rank.device.api, handle.native, "the stream that connects ranks"))
        buffers.append(until_then.enter_context(rank.device._allocate(count + 1, "bytes that connect ranks")))
    with _group(rccl):
        for rank, buffer, queue in zip(ranks, buffers, queues, strict=True):
            operations = [each for peer in range(count) if peer != rank.number for each in _exchange(peer)]
            rank.enqueue(operations, partial(_within, buffer._address), queue.native)
    for rank, queue in zip(ranks, queues, strict=True):
        queue.enqueued, queue.last_work = 1, "bytes between ranks"
        rank.device.api.make_current()
        queue.wait(rank.device.timeout)


def _within(address: int, place: Location) -> tuple[int, int]:
    return address + place.offset, place.length or 0


@contextmanager
def _group(rccl: RcclApi) -> Iterator[None]:
    """What is called inside is enqueued at the end, all of it or nothing."""
    rccl.call("ncclGroupStart")
    try:
        yield
    except BaseException:
        with suppress(HipGraphError):  # it says the same again
            rccl.call("ncclGroupEnd")
        raise
    rccl.call("ncclGroupEnd")


def _exchange(peer: int) -> list[Operation]:
    send = Operation(SEND, "u8", 1, "", peer, Range(0, 0, 1), None)
    return [send, Operation(RECEIVE, "u8", 1, "", peer, None, Range(0, 1 + peer, 1))]
