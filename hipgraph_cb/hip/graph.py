"""A HIP graph and its executable form, built so that a failure leaves nothing behind (P1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hipgraph_cb.errors import HipError
from hipgraph_cb.hip.api import HipApi
from hipgraph_cb.hip.commands import CommandArguments
from hipgraph_cb.hip.handle import Handle
from hipgraph_cb.hip.lowering import add_nodes

if TYPE_CHECKING:
    from hipgraph_cb.recording.dependencies import PlannedNode
    from hipgraph_cb.recording.recording import Recording


class ExecutableGraph:
    """What a program launches.

    Attributes:
        executable: the hipGraphExec.
        source: the graph it was made from, where later changes need it; else None.
        nodes: handles of the source's nodes, in the order of the plan.
    """

    def __init__(self, executable: Handle, source: Handle | None, nodes: list[int]) -> None:
        self.executable = executable
        self.source = source
        self.nodes = nodes

    @classmethod
    def build(
        cls,
        api: HipApi,
        recording: Recording,
        plan: Iterable[PlannedNode],
        arguments: CommandArguments,
        keep_source: bool,
    ) -> ExecutableGraph:
        """Create, fill and instantiate a graph.

        Args:
            keep_source: keep the graph and the handles of its nodes, which changing nodes needs.

        Raises:
            HipError: HIP refused something; everything that was made is given back.
        """
        graph = Handle(api, api.call("hipGraphCreate", 0), "hipGraphDestroy")
        try:
            nodes = add_nodes(api, graph.native, recording, plan, arguments)
            executable = _instantiate(api, graph, recording, len(nodes))
        except BaseException:
            graph.release()
            raise
        if keep_source:
            return cls(executable, graph, nodes)
        graph.release()  # the executable graph is a whole copy
        return cls(executable, None, [])

    def release(self) -> None:
        self.executable.release()
        if self.source is not None:
            self.source.release()


def _instantiate(api: HipApi, graph: Handle, recording: Recording, node_count: int) -> Handle:
    try:
        native, _error_node, _log = api.call("hipGraphInstantiate", graph.native, 0)
    except HipError as error:
        name = "a recording" if recording.label is None else f"recording `{recording.label}`"
        raise error.located(f"{name}: {node_count} nodes") from None
    return Handle(api, native, "hipGraphExecDestroy")
