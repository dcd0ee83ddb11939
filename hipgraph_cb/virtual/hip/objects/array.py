"""An array: elements of one to four channels, row behind row without a gap, in memory of the device."""

from __future__ import annotations

from dataclasses import dataclass

from hipgraph_cb.abi.hip.enums import ArrayFormat, ChannelKind
from hipgraph_cb.virtual.hip.native import require
from hipgraph_cb.virtual.hip.objects.boxes import Side

_BITS_AND_KIND = {
    ArrayFormat.UNSIGNED_INT8: (8, ChannelKind.UNSIGNED),
    ArrayFormat.UNSIGNED_INT16: (16, ChannelKind.UNSIGNED),
    ArrayFormat.UNSIGNED_INT32: (32, ChannelKind.UNSIGNED),
    ArrayFormat.SIGNED_INT8: (8, ChannelKind.SIGNED),
    ArrayFormat.SIGNED_INT16: (16, ChannelKind.SIGNED),
    ArrayFormat.SIGNED_INT32: (32, ChannelKind.SIGNED),
    ArrayFormat.HALF: (16, ChannelKind.FLOAT),
    ArrayFormat.FLOAT: (32, ChannelKind.FLOAT),
}
_FORMATS = {described: format for format, described in _BITS_AND_KIND.items()}
_CHANNEL_COUNTS = (1, 2, 4)


@dataclass(frozen=True)
class Elements:
    """What each element is: `count` channels of one format."""

    format: ArrayFormat
    count: int

    @classmethod
    def of_format(cls, format: int, count: int) -> Elements:
        """hipErrorInvalidValue where there are no such elements."""
        require(format in tuple(ArrayFormat) and count in _CHANNEL_COUNTS)
        return cls(ArrayFormat(format), count)

    @classmethod
    def of_channels(cls, bits: tuple[int, int, int, int], kind: int) -> Elements:
        """All channels have the same number of bits, and those that are there come first."""
        count = sum(number != 0 for number in bits)
        require(bits == (bits[0],) * count + (0,) * (4 - count) and kind in tuple(ChannelKind))
        described = (bits[0], ChannelKind(kind))
        require(described in _FORMATS)
        return cls.of_format(_FORMATS[described], count)

    @property
    def channels(self) -> tuple[int, int, int, int, int]:
        """The fields of a hipChannelFormatDesc."""
        bits, kind = _BITS_AND_KIND[self.format]
        x, y, z, w = (bits if index < self.count else 0 for index in range(4))
        return x, y, z, w, int(kind)

    @property
    def size(self) -> int:
        """In bytes."""
        return _BITS_AND_KIND[self.format][0] // 8 * self.count


@dataclass(frozen=True)
class Array:
    """An array. Its height is 0 if it has one dimension, its depth 0 if it has fewer than three and no layers."""

    address: int
    elements: Elements
    width: int
    height: int
    depth: int
    flags: int

    @property
    def element_size(self) -> int:
        return self.elements.size

    @property
    def pitch(self) -> int:
        return self.width * self.element_size

    @property
    def size(self) -> int:
        """In bytes."""
        return self.pitch * max(self.height, 1) * max(self.depth, 1)

    def side(self, position: tuple[int, int, int], extent: tuple[int, int, int]) -> Side:
        """A box in the array, which has to be within it: bytes of a row, rows and slices."""
        sizes = self.pitch, max(self.height, 1), max(self.depth, 1)
        require(all(begin + length <= size for begin, length, size in zip(position, extent, sizes, strict=True)))
        plane = self.pitch * sizes[1]
        x, y, z = position
        return Side(self.address + z * plane + y * self.pitch + x, self.pitch, plane)

    def place(self, offset: int, size: int) -> int:
        """The address of bytes in the array as one piece."""
        require(offset + size <= self.size)
        return self.address + offset
