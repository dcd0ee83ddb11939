"""Channels: what the ranks of collectives talk over."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import InvalidArgumentError, NoSuchIndexError
from hipgraph_cb.runtime.resource import Resource

if TYPE_CHECKING:
    from hipgraph_cb.runtime.device import Device


class Rank(Resource):
    """One rank of a channel: a device that takes part in its collectives. Programs keep what they need of it.

    Args:
        number: its own, from 0.
        size: how many ranks the channel has.
    """

    kind = "rank"

    def __init__(self, number: int, size: int, label: str | None) -> None:
        self.number = number
        self.size = size
        self.label = label

    @property
    @abstractmethod
    def device(self) -> Device:
        """The device that it is on."""

    def __repr__(self) -> str:
        return f"<{self.describe()}: {self.number} of {self.size}{', closed' if self._closed else ''}>"


class Channel(Resource, Sequence[Rank]):
    """Ranks by number, each on a device of its own. Each records its part of a collective in its own command buffer.

    Args:
        ranks: all of them, in order; the channel is their owner.
    """

    kind = "channel"

    def __init__(self, ranks: Sequence[Rank], label: str | None) -> None:
        self._ranks = tuple(ranks)
        self.label = label

    def __len__(self) -> int:
        return len(self._ranks)

    def __iter__(self) -> Iterator[Rank]:
        return iter(self._ranks)

    def __getitem__(self, number: Any) -> Any:
        """One rank by its number, or several by a slice.

        Raises:
            NoSuchIndexError: there is none with this number.
        """
        try:
            return self._ranks[number]
        except IndexError:
            raise NoSuchIndexError(
                "channel[...]: no such rank", found=str(number), allowed=f"0 to {len(self) - 1}"
            ) from None
        except TypeError:
            raise InvalidArgumentError(
                "channel[...]: not a number", found=type(number).__name__, allowed="a whole number or a slice"
            ) from None

    def on(self, device: Device) -> Rank:
        """The rank on a device.

        Raises:
            InvalidArgumentError: no rank is there.
            FailedPreconditionError: the channel is closed.
        """
        self._check_open("on")
        for rank in self._ranks:
            if rank.device is device:
                return rank
        raise InvalidArgumentError(
            f"{self.describe()} has no rank on this device",
            found="no device" if device is None else device.describe(),
            allowed=", ".join(rank.device.describe() for rank in self._ranks),
        )

    def _release(self) -> None:
        for rank in self._ranks:
            rank.close()

    def __repr__(self) -> str:
        return f"<{self.describe()} of {len(self)} ranks{', closed' if self._closed else ''}>"
