"""The state behind all functions of the virtual libamdhip64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import STREAM_LEGACY, STREAM_PER_THREAD
from hipgraph_cb.errors import NotFoundError
from hipgraph_cb.virtual.callbacks import CallError, CallGate
from hipgraph_cb.virtual.handles import HandleTable
from hipgraph_cb.virtual.hip.objects.allocations import Allocations
from hipgraph_cb.virtual.hip.objects.gpu import Gpu
from hipgraph_cb.virtual.hip.objects.stream import Stream
from hipgraph_cb.virtual.hip.profile import PROFILES
from hipgraph_cb.virtual.machine import Machine
from hipgraph_cb.virtual.thread_states import ThreadStates

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.api.graph_memory import GraphMemory
    from hipgraph_cb.virtual.hip.api.libraries import Kernel, Library
    from hipgraph_cb.virtual.hip.api.modules import Module
    from hipgraph_cb.virtual.hip.api.pools import Pool
    from hipgraph_cb.virtual.hip.api.registration import FatBinary
    from hipgraph_cb.virtual.hip.api.user_objects import UserObject
    from hipgraph_cb.virtual.hip.objects.array import Array
    from hipgraph_cb.virtual.hip.objects.capture import Capture
    from hipgraph_cb.virtual.hip.objects.event import Event
    from hipgraph_cb.virtual.hip.objects.executable_graph import ExecutableGraph
    from hipgraph_cb.virtual.hip.objects.graph import Graph, Node
    from hipgraph_cb.virtual.hip.objects.kernels import Function, Shape
    from hipgraph_cb.virtual.worker import Failure


class Context:
    """A context of a device."""

    def __init__(self, ordinal: int, flags: int = 0) -> None:
        self.ordinal = ordinal
        self.flags = flags
        self.handle = 0
        self.references = 0


class ThreadState:
    """What HIP keeps for each thread."""

    def __init__(self) -> None:
        self.device = 0
        self.last_error = 0
        self.streams: dict[int, Stream] = {}
        self.contexts: list[Context] = []
        self.device_without_contexts = 0
        self.capture_mode = 0
        self.call_configurations: list[tuple[Shape, Shape, int, int]] = []
        self.call_arguments = bytearray()


class HipRuntime:
    """All state of the virtual library; functions of `FUNCTIONS` get it as their first argument.

    Attributes:
        address_of: where the library exports a function.
    """

    def __init__(self, machine: Machine, gate: CallGate) -> None:
        self.gate = gate
        self.settings = settings = machine.settings
        self.profile = PROFILES[settings.profile]
        self._threads = ThreadStates(ThreadState, self._thread_ended, gate.interrupts.in_callback)
        self.memory = machine.memory
        self.gpus = [Gpu(gpu.ordinal, gpu.target, gpu.model, gpu.worker) for gpu in machine.gpus]
        self.allocations = Allocations(self.memory, settings.memory)
        self.streams: HandleTable[Stream] = HandleTable(Code.CONTEXT_IS_DESTROYED, "hipStream_t")
        self.events: HandleTable[Event] = HandleTable(Code.INVALID_HANDLE, "hipEvent_t")
        self.modules: HandleTable[Module] = HandleTable(Code.NOT_FOUND, "hipModule_t")
        self.functions: HandleTable[Function] = HandleTable(Code.INVALID_VALUE, "hipFunction_t")
        self.graphs: HandleTable[Graph] = HandleTable(Code.INVALID_VALUE, "hipGraph_t")
        self.nodes: HandleTable[Node] = HandleTable(Code.INVALID_VALUE, "hipGraphNode_t")
        self.executable_graphs: HandleTable[ExecutableGraph] = HandleTable(Code.INVALID_VALUE, "hipGraphExec_t")
        self.contexts: HandleTable[Context] = HandleTable(Code.INVALID_CONTEXT, "hipCtx_t")
        self.primary_contexts = [self._primary_context(gpu.ordinal) for gpu in self.gpus]
        self.limits: dict[tuple[int, int], int] = {}
        self.fat_binaries: HandleTable[FatBinary] = HandleTable(Code.INVALID_VALUE, "registered fat binary")
        self.host_functions: dict[int, tuple[FatBinary, str]] = {}
        self.host_variables: dict[int, tuple[FatBinary, str]] = {}
        self.captures: set[Capture] = set()
        self.pools: HandleTable[Pool] = HandleTable(Code.INVALID_VALUE, "hipMemPool_t")
        self.default_pools: dict[int, int] = {}
        self.current_pools: dict[int, int] = {}
        self.arrays: HandleTable[Array] = HandleTable(Code.INVALID_HANDLE, "hipArray_t")
        self.user_objects: HandleTable[UserObject] = HandleTable(Code.INVALID_VALUE, "hipUserObject_t")
        self.graph_memory: dict[int, GraphMemory] = {}
        self.graph_memory_meters: dict[tuple[int, int], int] = {}
        self.libraries: HandleTable[Library] = HandleTable(Code.INVALID_HANDLE, "hipLibrary_t")
        self.kernels: HandleTable[Kernel] = HandleTable(Code.INVALID_HANDLE, "hipKernel_t")
        self.address_of: Callable[[str], int] = lambda name: 0
        self.advice: dict[tuple[int, int], int] = {}
        self.synchronous_ranges: set[int] = set()
        self.threads_with_error: set[ThreadState] = set()
        gate.remembered = self.threads_with_error
        gate.remember = self._remember
        if settings.after_fault == "sticky":
            machine.on_fault = self._break

    def _primary_context(self, ordinal: int) -> Context:
        context = Context(ordinal)
        context.handle = self.contexts.add(context)
        return context

    # -- the calling thread ----------------------------------------------------------------------------------------

    @property
    def thread(self) -> ThreadState:
        """The calling thread's own state."""
        return self._threads.current()

    @property
    def gpu(self) -> Gpu:
        """The calling thread's current device."""
        return self.gpus[self.thread.device]

    def _thread_ended(self, state: ThreadState) -> None:
        # Not here: the lock may be held, in a forked child for ever.
        self.gate.shared.deferred.append(partial(self._forget_thread, state))

    def _forget_thread(self, state: ThreadState) -> None:
        self.threads_with_error.discard(state)
        for stream in state.streams.values():
            if stream.is_idle:  # else waits for the device have to find it
                stream.gpu.streams.discard(stream)

    def gpu_at(self, ordinal: int) -> Gpu:
        if not 0 <= ordinal < len(self.gpus):
            raise CallError(Code.INVALID_DEVICE)
        return self.gpus[ordinal]

    def stream(self, handle: int) -> Stream:
        """The stream behind a hipStream_t: 0 and hipStreamLegacy are the null stream of the current device."""
        if handle in (0, STREAM_LEGACY):
            return self.gpu.null_stream
        if handle == STREAM_PER_THREAD:
            return self._stream_of_thread()
        return self.streams[handle]

    def is_stream(self, handle: int) -> bool:
        """Whether `stream` finds one."""
        return handle in (0, STREAM_LEGACY, STREAM_PER_THREAD) or handle in self.streams

    def _stream_of_thread(self) -> Stream:
        streams = self.thread.streams
        if self.thread.device not in streams:
            stream = streams[self.thread.device] = Stream(self.gpu)
            self.gpu.streams.add(stream)
        return streams[self.thread.device]

    def _remember(self, code: int) -> None:
        if code and code not in self.profile.forgotten_codes:
            self.thread.last_error = int(code)
            self.threads_with_error.add(self.thread)
        elif not code and not self.profile.last_error_is_sticky:
            self.take_last_error()

    def _break(self, failure: Failure) -> None:
        """Every later call repeats the first fault."""
        if self.gate.broken_by is None:
            self.gate.broken_by = failure.code, failure.text

    def take_last_error(self) -> int:
        """The calling thread's last error, which is forgotten."""
        thread = self.thread
        self.threads_with_error.discard(thread)
        code, thread.last_error = thread.last_error, 0
        return code

    @contextmanager
    def following(self, name: str) -> Iterator[None]:
        """Follow another profile while the context is open."""
        if name not in PROFILES:
            raise NotFoundError("no such profile", found=repr(name), allowed=", ".join(PROFILES))
        with self.gate.lock:
            before, self.profile = self.profile, PROFILES[name]
        try:
            yield
        finally:
            with self.gate.lock:
                self.profile = before
