"""Stand-ins for what a backend and the verifier offer, for tests of what is pure."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar


@dataclass(eq=False)
class FakeDevice:
    name: str = "fake"
    ordinal: int = 0


@dataclass(eq=False)
class FakeBuffer:
    """A buffer that is its own whole range."""

    size: int
    label: str | None = None
    device: Any = None
    closed: bool = False
    offset: int = 0
    is_host: bool = False

    @property
    def buffer(self) -> FakeBuffer:
        return self

    @property
    def length(self) -> int:
        return self.size

    def view(self, offset: int, length: int) -> FakeView:
        return FakeView(self, offset, length)


@dataclass(eq=False)
class FakeView:
    buffer: FakeBuffer
    offset: int
    length: int


@dataclass(eq=False)
class FakeEvent:
    label: str | None = None
    device: Any = None
    closed: bool = False
    kind: ClassVar[str] = "event"


@dataclass(eq=False)
class FakeRank:
    """Rank 1 of 2, unless it is said otherwise."""

    label: str | None = None
    number: int = 1
    size: int = 2
    device: Any = None
    closed: bool = False
    kind: ClassVar[str] = "rank"


@dataclass(frozen=True)
class FakeKind:
    name: str


POINTER, VALUE = FakeKind("POINTER"), FakeKind("VALUE")


@dataclass(frozen=True)
class FakeParameter:
    index: int
    name: str
    offset: int
    size: int
    kind: FakeKind
    type_name: str | None
    access: str | None = None
    is_const: bool = False

    @property
    def label(self) -> str:
        return f"{self.name}: {self.type_name}"


@dataclass(frozen=True)
class FakeLayout:
    """Packs pointers as zeros and values as 32-bit numbers."""

    parameters: tuple[FakeParameter, ...]
    size: int
    packers: ClassVar[dict[Any, None]] = {}

    @property
    def block_size(self) -> int:
        return -(-self.size // 8) * 8

    def label_at(self, offset: int) -> str:
        return next(each.label for each in self.parameters if each.offset == offset)

    addresses_by_value: ClassVar[frozenset[int]] = frozenset()

    def pointer_offsets(self, _by_value: Any) -> tuple[int, ...]:
        return tuple(each.offset for each in self.parameters if each.kind is POINTER)

    def packer(self, types: Any, by_value: Any = ()) -> None:
        """None: `pack` looks at each argument."""

    def pack(self, values: Any) -> SimpleNamespace:
        if len(values) != len(self.parameters):
            from hipgraph_cb.errors import InvalidArgumentError

            raise InvalidArgumentError("wrong count", found=str(len(values)), allowed=str(len(self.parameters)))
        block, pointers = bytearray(self.size), []
        for parameter, value in zip(self.parameters, values, strict=True):
            if parameter.kind is VALUE:
                struct.pack_into("<f" if parameter.type_name == "float" else "<I", block, parameter.offset, value)
            elif value is not None and not isinstance(value, int):
                pointers.append((parameter.offset, value))
        return SimpleNamespace(block=bytes(block), pointers=tuple(pointers))

    def pack_hal(self, bindings: Any, constants: Any) -> SimpleNamespace:
        bindings, constants = iter(bindings), iter(constants)
        return self.pack([next(bindings if each.kind is POINTER else constants) for each in self.parameters])


@dataclass(frozen=True, eq=False)
class FakeVerifiedExport:
    name: str
    layout: FakeLayout
    required_workgroup_size: tuple[int, int, int] | None = None
    max_flat_workgroup_size: int = 256
    group_segment_size: int = 0


@dataclass(frozen=True, eq=False)
class FakeVerifiedExecutable:
    content_hash: str
    exports: dict[str, FakeVerifiedExport]
    origins: ClassVar[dict[str, str]] = {}
    constants: ClassVar[dict[str, bytes]] = {}


@dataclass(eq=False)
class FakeExport:
    executable: FakeExecutable
    verified: FakeVerifiedExport

    @property
    def name(self) -> str:
        return self.verified.name


@dataclass(eq=False)
class FakeExecutable:
    verified: FakeVerifiedExecutable
    label: str | None = None
    device: Any = None
    closed: bool = False

    def __getitem__(self, name: str) -> FakeExport:
        return FakeExport(self, self.verified.exports[name])


@dataclass(frozen=True)
class FakeLimits:
    max_workgroup_size: tuple[int, int, int] = (1024, 1024, 1024)
    max_flat_workgroup_size: int = 1024
    max_grid_size: int = (1 << 32) - 1
    max_lds: int = 65536


@dataclass
class FakeProgram:
    recording: Any
    replays: list[tuple[Any, Any, str]] = field(default_factory=list)

    def replay(self, stream: Any = None, bindings: Any = None, mode: str = "graph") -> None:
        self.replays.append((stream, bindings, mode))


SAXPY_PARAMETERS = (
    FakeParameter(0, "y", 0, 8, POINTER, "float*"),
    FakeParameter(1, "x", 8, 8, POINTER, "float*"),
    FakeParameter(2, "a", 16, 4, VALUE, "float"),
    FakeParameter(3, "n", 20, 4, VALUE, "uint"),
)


def executable(*exports: FakeVerifiedExport, label: str | None = None, device: Any = None) -> FakeExecutable:
    """An executable whose content hash follows from its kernels' names."""
    content_hash = hashlib.sha256(
        " ".join(each.name for each in exports).encode("utf-8", "backslashreplace")
    ).hexdigest()
    return FakeExecutable(FakeVerifiedExecutable(content_hash, {each.name: each for each in exports}), label, device)


def saxpy(name: str = "saxpy", **facts: Any) -> FakeExport:
    """A kernel y, x, a, n; `facts` overrides what its metadata says."""
    return executable(FakeVerifiedExport(name, FakeLayout(SAXPY_PARAMETERS, 24), **facts))[name]
