"""Checks that MessagePack bytes hold what they claim, without building anything.

The `msgpack` library allocates an array or map as large as the bytes say before it looks for the elements, and nested
claims add up. So the claims are compared with the structure first.
"""

from __future__ import annotations

from hipgraph_cb.errors import InvalidArgumentError

# Headers with a 16-bit or 32-bit count, and the bytes of that count; smaller ones claim no more than 15 elements.
_COUNTED = ((b"\xdc", 2), (b"\xdd", 4), (b"\xde", 2), (b"\xdf", 4))
# Marker -> bytes of the whole item, for items of one size.
_FIXED_SIZES = {0xC0: 1, 0xC2: 1, 0xC3: 1, 0xCA: 5, 0xCB: 9, 0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9}
_FIXED_SIZES |= {0xD0: 2, 0xD1: 3, 0xD2: 5, 0xD3: 9, 0xD4: 3, 0xD5: 4, 0xD6: 6, 0xD7: 10, 0xD8: 18}
# Marker -> bytes of the count, bytes beside it that are not counted, elements for each count (0: it counts bytes).
_COUNTS = {0xC4: (1, 0, 0), 0xC5: (2, 0, 0), 0xC6: (4, 0, 0), 0xC7: (1, 1, 0), 0xC8: (2, 1, 0), 0xC9: (4, 1, 0)}
_COUNTS |= {0xD9: (1, 0, 0), 0xDA: (2, 0, 0), 0xDB: (4, 0, 0)}
_COUNTS |= {0xDC: (2, 0, 1), 0xDD: (4, 0, 1), 0xDE: (2, 0, 2), 0xDF: (4, 0, 2)}


# The markers of maps and arrays; they are rare as bytes of other items.
_CONTAINERS = bytes([*range(0x80, 0xA0), 0xDC, 0xDD, 0xDE, 0xDF])
_FEW_CONTAINERS, _LEAST_CONTAINER = 4096, 8


def check_claims(data: bytes) -> None:
    """Refuse bytes that claim more elements than they hold, or that are hardly more than maps and arrays.

    Raises:
        InvalidArgumentError: a size or count exceeds the bytes, or there are more maps and arrays than any metadata
            has in so many bytes; the place is an offset into `data`.
    """
    most = len(data) - len(data.translate(None, _CONTAINERS))
    if most > _allowed_containers(len(data)) or _may_claim_more_than(len(data), data):
        check_structure(data)


def _allowed_containers(size: int) -> int:
    """A map of one byte takes 64 in memory, and a call of ours; those of metadata have a dozen bytes and more."""
    return _FEW_CONTAINERS + size // _LEAST_CONTAINER


def _may_claim_more_than(limit: int, data: bytes) -> bool:
    """An upper bound: bytes that merely look like a counted header are counted too. Quick, since there are few."""
    total = 0
    for marker, width in _COUNTED:
        position = data.find(marker)
        while position >= 0 and total <= limit:
            total += int.from_bytes(data[position + 1 : position + 1 + width], "big")
            position = data.find(marker, position + 1)
    return total > limit


def check_structure(data: bytes) -> None:
    """Walk one value that should fill `data`. Raises InvalidArgumentError at the first item that does not fit."""
    position, missing, containers, most = 0, 1, 0, _allowed_containers(len(data))
    while missing:
        if position >= len(data):
            raise _malformed("the bytes end before the value does", position)
        start = position
        size, elements = _item(data, position)
        position += size
        missing += elements - 1
        containers += data[start] in _CONTAINERS
        if containers > most:
            raise InvalidArgumentError(
                "the metadata note has too many maps and arrays",
                found=f"more than {most} in {len(data)} bytes",
                allowed=f"{_FEW_CONTAINERS}, and one for each {_LEAST_CONTAINER} bytes",
                next_step="the file was edited; build it again",
            )
        if position > len(data) or missing > len(data) - position:
            raise _malformed("a size or count exceeds the bytes that are left", start)
    if position != len(data):
        raise _malformed("there are bytes after the value", position)


def _item(data: bytes, position: int) -> tuple[int, int]:
    """Bytes of the item at `position` without its elements, and how many elements follow it."""
    marker = data[position]
    if marker <= 0x7F or marker >= 0xE0:
        return 1, 0
    if marker <= 0x8F:
        return 1, 2 * (marker & 0xF)
    if marker <= 0x9F:
        return 1, marker & 0xF
    if marker <= 0xBF:
        return 1 + (marker & 0x1F), 0
    if marker in _FIXED_SIZES:
        return _FIXED_SIZES[marker], 0
    if marker not in _COUNTS:
        raise _malformed(f"{marker:#04x} is not the start of an item", position)
    width, extra, elements = _COUNTS[marker]
    count = int.from_bytes(data[position + 1 : position + 1 + width], "big")
    return 1 + width + extra + (0 if elements else count), count * elements


def _malformed(why: str, position: int) -> InvalidArgumentError:
    return InvalidArgumentError(
        "the metadata note is not valid MessagePack",
        where=f"byte {position} of the metadata",
        found=why,
        allowed="one MessagePack map that fills the note",
        next_step="the file is truncated or was edited; build it again",
    )
