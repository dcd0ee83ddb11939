"""Streams of other libraries: the address behind whatever they call a stream."""

from __future__ import annotations

from typing import Any


def stream_address(stream: Any) -> int:
    """The address of a stream.

    Args:
        stream: an object with `__cuda_stream__`, `cuda_stream` (PyTorch) or `ptr` (CuPy), or anything that is an int or
            becomes one (hip-python).

    Raises:
        TypeError, ValueError: it is none of these.
    """
    address = _given_address(stream)
    if not 0 <= address < 1 << 64:
        raise ValueError
    return address


def _given_address(stream: Any) -> int:
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        _version, address = protocol()
        return int(address)
    for name in ("cuda_stream", "ptr"):
        address = getattr(stream, name, None)
        if isinstance(address, int):
            return address
    if isinstance(stream, (bool, float, str)):
        raise TypeError
    return int(stream)
