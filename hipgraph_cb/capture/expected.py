"""What a buffer should hold after a replay, and how close is close enough.

Values of a declared type are compared with the tolerances of that type or with those that were given; what has no
declared type is compared byte by byte. The default tolerances allow for sums in another order, not for wrong results.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.validation import host_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EXACT = (0.0, 0.0)
TOLERANCES: dict[str, tuple[float, float]] = {
    **{f"{sign}int{bits}": _EXACT for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "bool": _EXACT,
    "bfloat16": (1.6e-2, 1e-5),
    "float16": (1e-3, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
"""Type -> relative and absolute tolerance, by default; the types are those that can be declared."""

BYTES = "uint8"


@dataclass(frozen=True)
class Difference:
    """Where two contents of one buffer differ first.

    Attributes:
        offset: of the first differing element, in bytes.
        found, expected: the element in both, as text.
        count: differing elements.
        total: elements in all.
        dtype: what an element is.
        largest: the largest absolute difference, where the type has one.
        largest_ulps: the largest distance of two finite values in units in the last place, where the type has them: how
            many values of the type lie between them, plus one.
    """

    offset: int
    found: str
    expected: str
    count: int
    total: int
    dtype: str
    largest: float | None = None
    largest_ulps: int | None = None

    def __str__(self) -> str:
        listing = f"byte {self.offset} ({self.dtype} {self.offset // _itemsize(self.dtype)})"
        largest = "" if self.largest is None else f", largest difference {self.largest:.3g}"
        largest += "" if self.largest_ulps is None else f" ({self.largest_ulps} units in the last place)"
        found, expected = self.found, self.expected
        return f"{listing}: {found} instead of {expected}; {self.count} of {self.total} elements differ{largest}"


@dataclass(frozen=True)
class Expected:
    """Contents to compare with: `|found - expected| <= atol + rtol * |expected|`, NaN where NaN is expected.

    Attributes:
        data: the bytes of a whole buffer.
        dtype: one of `TOLERANCES`.
        rtol, atol: relative and absolute tolerance; both are zero for what must be equal.
    """

    data: bytes
    dtype: str = BYTES
    rtol: float = 0.0
    atol: float = 0.0

    @staticmethod
    def of(array: object, *, rtol: float | None = None, atol: float | None = None) -> Expected:
        """Expect the values of an array, or plain bytes; a tolerance that is not given is that of the type.

        Raises:
            InvalidArgumentError: a type that cannot be declared, or a tolerance that is no number of 0 or more.
        """
        dtype = getattr(array, "dtype", None)
        name = BYTES if dtype is None else str(getattr(dtype, "name", dtype))
        if name not in TOLERANCES or getattr(dtype, "byteorder", "=") == ">":
            raise InvalidArgumentError(
                "an expected buffer cannot be declared to hold this type",
                found=str(dtype),
                allowed=", ".join(TOLERANCES),
                next_step="give its bytes, which are then compared exactly: array.view('uint8')",
            )
        usual = TOLERANCES[name]
        pair = [_tolerance(given, default) for given, default in zip((rtol, atol), usual, strict=True)]
        return Expected(host_bytes(array, "an expected buffer"), name, *pair)

    def difference(self, found: bytes | NDArray[Any]) -> Difference | None:
        """Where `found`, as many bytes, is not what is expected; None where it is."""
        import numpy

        actual = numpy.frombuffer(found, numpy.uint8)
        wanted = numpy.frombuffer(self.data, numpy.uint8)
        if numpy.array_equal(actual, wanted):
            return None
        first, second = elements(actual, self.dtype), elements(wanted, self.dtype)
        distance = None
        if self.rtol == 0.0 == self.atol:
            width = _itemsize(self.dtype)
            wrong = (actual.reshape(-1, width) != wanted.reshape(-1, width)).any(axis=1)
        else:
            wide, other = _widened(first), _widened(second)
            with numpy.errstate(all="ignore"):
                distance = numpy.abs(wide - other)
                close = distance <= self.atol + self.rtol * numpy.abs(other)
            finite = numpy.isfinite(wide) & numpy.isfinite(other)
            same = (wide == other) | (numpy.isnan(wide) & numpy.isnan(other))
            wrong = ~(same | (finite & close))
        where = numpy.flatnonzero(wrong)
        if where.size == 0:
            return None
        at = int(where[0])
        return Difference(
            at * _itemsize(self.dtype),
            _shown(first[at]),
            _shown(second[at]),
            int(where.size),
            int(first.size),
            self.dtype,
            None if distance is None else float(numpy.max(distance[wrong])),
            _largest_ulps(actual, wanted, self.dtype, wrong),
        )


def elements(data: Any, dtype: str) -> Any:
    """Bytes as values of a declared type; bfloat16, which numpy does not have, as float32 of the same value."""
    import numpy

    if dtype == "bfloat16":
        words = data.view(numpy.uint16).astype(numpy.uint32) << 16
        return words.view(numpy.float32)
    return data.view(dtype)


_FLOATS = ("bfloat16", "float16", "float32", "float64")


def _largest_ulps(found: Any, wanted: Any, dtype: str, wrong: Any) -> int | None:
    """The largest distance in units in the last place, among elements that are finite in both."""
    import numpy

    if dtype not in _FLOATS:
        return None
    finite = wrong & numpy.isfinite(elements(found, dtype)) & numpy.isfinite(elements(wanted, dtype))
    if not finite.any():
        return None
    first, second = (_in_order(data.view(f"u{_itemsize(dtype)}")[finite]) for data in (found, wanted))
    return int((numpy.maximum(first, second) - numpy.minimum(first, second)).max())


def _in_order(words: Any) -> Any:
    """The bits of floats as numbers in the order of their values, where both zeros are one number."""
    sign = words.dtype.type(1 << (8 * words.itemsize - 1))
    magnitudes = words & ~sign
    return (words & sign == 0) * magnitudes + sign - (words & sign != 0) * magnitudes


def _widened(values: Any) -> Any:
    """Values in which differences of theirs can be taken without overflow."""
    import numpy

    return values.astype(numpy.complex128 if numpy.iscomplexobj(values) else numpy.float64)


def _itemsize(dtype: str) -> int:
    import numpy

    return 2 if dtype == "bfloat16" else numpy.dtype(dtype).itemsize


def check_whole(expected: Expected) -> None:
    """Refuse contents that are no whole number of elements."""
    width = _itemsize(expected.dtype)
    if len(expected.data) % width:
        raise InvalidArgumentError(
            f"expected contents are no whole number of {expected.dtype}",
            found=f"{len(expected.data)} bytes",
            allowed=f"a multiple of {width} bytes",
        )


def _tolerance(given: float | None, default: float) -> float:
    if given is None:
        return default
    try:
        value = float(given)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 <= value < math.inf:
        raise InvalidArgumentError("a tolerance is no number of 0 or more", found=repr(given))
    return value


def _shown(value: Any) -> str:
    return repr(value.item())
