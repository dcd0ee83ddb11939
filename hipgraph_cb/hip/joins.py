"""What is between two layers and in front of the first: an empty node, or a kernel of our own that does nothing."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from hipgraph_cb.code_object.builtin_kernels import builtin_code_object
from hipgraph_cb.code_object.verify import verify
from hipgraph_cb.errors import HipError, HipGraphError, UnavailableError
from hipgraph_cb.hip.builtin_kernels import BuiltinKernel
from hipgraph_cb.recording.dependencies import AUTO_ELSEWHERE, AUTO_ON_AMD, AutoJoin, JoinPolicy, join_kind

if TYPE_CHECKING:
    from hipgraph_cb.code_object.limits import DeviceLimits
    from hipgraph_cb.code_object.target_id import TargetId
    from hipgraph_cb.hip.api import HipApi
    from hipgraph_cb.hip.node_parameters import ParameterBlock

KERNELS = Path(__file__).parent / "kernels"


def code_for(target: TargetId) -> bytes:
    """The code object of the join kernel for a target: made for it, or for the generic target of its family.

    Raises:
        UnavailableError: there is none.
    """
    missing = "program: there is no join kernel for this target"
    return builtin_code_object(KERNELS, "join", target, missing, "use join='edges', 'empty' or 'auto'")


class JoinKernel(BuiltinKernel):
    """The join kernel of one device."""

    def __init__(self, api: HipApi, target: TargetId, limits: DeviceLimits) -> None:
        super().__init__(api, "join", lambda: verify(code_for(target), target=target, limits=limits))
        self._parameters: ParameterBlock | None = None

    def parameters(self) -> Any:
        """The native parameters of its kernel nodes: one work-item, no arguments."""
        if self._parameters is None:
            self.load()
            import numpy as np

            from hipgraph_cb.hip.node_parameters import kernel_block, kernel_images

            one = np.ones((1, 3), np.uint32)
            self._parameters = kernel_block()
            (self._parameters.image.raw,) = kernel_images(self.function, one, one, np.zeros(1, np.uint64), 0)
        return self._parameters.native

    def release(self) -> None:
        """Give the module back."""
        self._parameters = None
        super().release()


class Joiner:
    """Joins layers in the graphs of one program by its policy.

    Attributes:
        policy: what the program asks for.
        auto: what `AUTO` means on this runtime.
    """

    def __init__(self, api: HipApi, policy: JoinPolicy, auto: AutoJoin, kernel: JoinKernel) -> None:
        self.policy = policy
        self.auto = auto
        self._api = api
        self._kernel = kernel

    def kind(self, fan_in: int, fan_out: int) -> JoinPolicy | None:
        """The kind of node between two layers of so many commands, or None for direct edges."""
        return join_kind(fan_in, fan_out, self.policy, self.auto)

    def add(self, graph: Any, kind: JoinPolicy, dependencies: Any, count: int) -> int:
        """Add a join behind `count` nodes; returns its handle.

        Raises:
            HipError: HIP refused the node or the kernel.
            UnavailableError: it is a kernel, and there is none for this target.
        """
        try:
            if kind is JoinPolicy.KERNEL:
                parameters = self._kernel.parameters()
                return int(self._api.call("hipGraphAddKernelNode", graph, dependencies, count, parameters))
            return int(self._api.call("hipGraphAddEmptyNode", graph, dependencies, count))
        except HipGraphError as error:
            raise error.located(f"a join of {count} commands") from None

    def add_root(self, graph: Any) -> int:
        """Add the empty node in front of the several nodes of a graph that wait for nothing; returns its handle.

        AMD's runtime 7.2.4 loses the order of the stream in front of every root but the first: what was enqueued before
        the graph may still run. Behind one root all are in order, and an empty node is no packet there.

        Raises:
            HipError: HIP refused the node.
        """
        return int(self._api.call("hipGraphAddEmptyNode", graph, None, 0, where="the root in front of all commands"))


def auto_join(api: HipApi) -> AutoJoin:
    """What `AUTO` means on the runtime that is loaded, whatever GPU is behind it.

    AMD's own has functions beyond HIP, which a library that brings HIP to another driver has not. The one that is
    called takes the last error of its thread away, so it has a thread of its own. (Of functions that return no error
    code hip-python does not say that they are missing.)
    """
    is_amd: list[bool] = []
    thread = Thread(target=lambda: is_amd.append(_has_own_functions(api)))
    thread.start()
    thread.join()
    return AUTO_ON_AMD if is_amd == [True] else AUTO_ELSEWHERE


def _has_own_functions(api: HipApi) -> bool:
    try:
        api.call("hipExtGetLastError")
    except UnavailableError:
        return False
    except HipError:  # whatever it answers, it is there
        pass
    return True
