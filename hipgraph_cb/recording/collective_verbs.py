"""The verbs of a command buffer for operations between ranks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hipgraph_cb.recording.collective_calls import make_collectives

if TYPE_CHECKING:
    from hipgraph_cb.recording.commands import Command
    from hipgraph_cb.recording.resources import RangeLike, RankLike, Slot


class CollectiveVerbs(ABC):
    """Operations between the devices of a group. Each rank records its own part, in its own device's command buffer."""

    @abstractmethod
    def _record_value(
        self, verb: str, label: str | None, make: Callable[..., Command | None], *arguments: object
    ) -> None: ...

    def collective(
        self,
        op: str,
        channel: RankLike | Any,
        source: RangeLike | Slot | None = None,
        target: RangeLike | Slot | None = None,
        *,
        type: Any = None,
        reduction: str | None = None,
        root: int | None = None,
        peer: int | None = None,
        count: int | None = None,
        label: str | None = None,
    ) -> None:
        """Take part in an operation between ranks, which starts when all of them have come to it.

        Every rank has to replay the same operations over a channel in the same order, with equal types, numbers of
        elements, reductions and roots. Whoever waits for this command waits until the operation is over on all ranks.

        Args:
            op: "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "gather", "scatter";
                between two ranks "send" and "receive".
            channel: `device_group.channel()`, of which the rank on this device is meant, or a rank of it.
            source: what this rank sends. A rank that sends nothing may give it all the same; it is not used.
            target: what it receives, likewise. It may be the source, or for all_gather and gather the memory that holds
                it as the block of this rank, and the other way round for reduce_scatter and scatter.
            type: of an element: "i8" to "i64", "u8" to "u64", "f16", "bf16", "f32" or "f64", or NumPy's types. None
                takes that of an array.
            reduction: "sum", which None is too, "prod", "min", "max" or "avg".
            root: the rank that the others send to or receive from; None is 0.
            peer: the other rank of a send or receive.
            count: elements in one block: all of them, or those that one rank gives to or gets from one other rank.
                None is as many as the memory has. No elements record nothing.

        Raises:
            InvalidArgumentError: no such operation, type, reduction or rank; memory that does not fit, or overlaps.
            FailedPreconditionError: the channel is closed.
        """
        call = {"op": op, "source": source, "target": target, "type": type, "reduction": reduction, "root": root}
        self._record_value("collective", label, make_collectives, channel, [call | {"peer": peer, "count": count}])

    def collective_group(
        self, channel: RankLike | Any, calls: Sequence[Mapping[str, Any]], *, label: str | None = None
    ) -> None:
        """Take part in several operations that start together, as one command: so two ranks can send to each other.

        Args:
            channel: as for `collective`.
            calls: for each operation the arguments of `collective` by their names, as
                `{"op": "send", "source": x, "peer": 1}`.

        Raises:
            The errors of `collective`.
        """
        self._record_value("collective_group", label, make_collectives, channel, calls)
