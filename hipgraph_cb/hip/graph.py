"""A HIP graph and its executable form, built so that a failure leaves nothing behind (P1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.backend.handle import Handle
from hipgraph_cb.errors import HipError
from hipgraph_cb.hip.api import HipApi
from hipgraph_cb.hip.commands import CommandArguments
from hipgraph_cb.hip.lowering import add_nodes, change_node
from hipgraph_cb.recording.dependencies import JoinPolicy

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording


class ExecutableGraph:
    """What a program launches.

    Attributes:
        executable: the hipGraphExec.
    """

    def __init__(
        self,
        api: HipApi,
        recording: Recording,
        arguments: CommandArguments,
        executable: Handle,
        source: Handle | None,
        nodes: list[int],
    ) -> None:
        self.executable = executable
        self._api = api
        self._recording = recording
        self._arguments = arguments
        self._source = source
        self._nodes = nodes

    @classmethod
    def build(
        cls, api: HipApi, recording: Recording, policy: JoinPolicy, arguments: CommandArguments, changeable: bool
    ) -> ExecutableGraph:
        """Create, fill and instantiate a graph.

        Args:
            changeable: keep the graph and the handles of its nodes, which `change` needs.

        Raises:
            HipError: HIP refused something; everything that was made is given back.
        """
        graph = Handle(api, api.call("hipGraphCreate", 0), "hipGraphDestroy")
        try:
            nodes = add_nodes(api, graph.native, recording, policy, arguments)
            executable = _instantiate(api, graph, recording)
        except BaseException:
            graph.release()
            raise
        if changeable:
            return cls(api, recording, arguments, executable, graph, nodes)
        graph.release()  # the executable graph is a whole copy
        return cls(api, recording, arguments, executable, None, [])

    def change(self, index: int) -> None:
        """Give the node of the command `index` the arguments that the slots say now. Raises HipError."""
        change_node(self._api, self.executable.native, self._nodes[index], self._recording, index, self._arguments)

    def release(self) -> None:
        """Give back the executable graph and what it was made from."""
        self.executable.release()
        if self._source is not None:
            self._source.release()


def _instantiate(api: HipApi, graph: Handle, recording: Recording) -> Handle:
    try:
        native, _error_node, _log = api.call("hipGraphInstantiate", graph.native, 0)
    except HipError as error:
        name = "a recording" if recording.label is None else f"recording {recording.label!r}"
        raise error.located(f"{name} of {len(recording)} commands") from None
    return Handle(api, native, "hipGraphExecDestroy")
