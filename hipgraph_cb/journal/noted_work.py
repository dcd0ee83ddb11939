"""The pieces of work of the virtual HIP library as notes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.code_object.kernel_args import POINTER_SIZE, ParameterKind
from hipgraph_cb.journal.notes import Code, Copy, Dispatch, Fill, Note, Read, Update
from hipgraph_cb.journal.places import NotKept, Place, Places
from hipgraph_cb.virtual.hip.api.stream_values import WriteValue
from hipgraph_cb.virtual.hip.objects.kernels import KernelLaunch
from hipgraph_cb.virtual.hip.objects.work import Copy as CopyWork
from hipgraph_cb.virtual.hip.objects.work import CopyBox, Upload
from hipgraph_cb.virtual.hip.objects.work import Fill as FillWork

if TYPE_CHECKING:
    from hipgraph_cb.code_object.kernel_args import Parameter
    from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime

_NOTHING: tuple[int, ...] = ()


class NotedWork:
    """Makes notes of work that is about to run.

    Args:
        add: takes the notes of code objects.
    """

    def __init__(self, runtime: HipRuntime, places: Places, add: Callable[[Note], None]) -> None:
        self._runtime = runtime
        self._places = places
        self._add = add
        self._codes: dict[bytes, int] = {}
        self._makers: dict[type[Any], Callable[[Any], list[Any]]] = {
            KernelLaunch: self._launch,
            CopyWork: self._copy,
            CopyBox: self._box,
            Upload: self._upload,
            FillWork: self._fill,
            WriteValue: self._write_value,
        }

    def is_command(self, work: object) -> bool:
        """Whether it does something to memory; what only orders others is no command."""
        return type(work) in self._makers

    def notes(self, work: object) -> list[Any]:
        """The commands that a piece of work is, one behind the other.

        Raises:
            NotKept: it is more than a recording can hold.
        """
        made = self._makers[type(work)](work)
        return [*self._changes(made), *made]

    def remember(self, made: list[Any]) -> None:
        """The commands are over."""
        for number in self._used(made):
            self._places.remember(number)

    def _changes(self, made: list[Any]) -> list[Update]:
        """What the program wrote into memory of the host that these commands use."""
        changes = []
        for number in self._used(made):
            changed = self._places.changed_by_the_program(number)
            if changed is not None:
                changes.append(Update(number, *changed, _NOTHING))
        return changes

    @staticmethod
    def _used(made: list[Any]) -> list[int]:
        used: dict[int, None] = {}
        for note in made:
            if isinstance(note, Dispatch):
                used.update(dict.fromkeys(memory for memory, _ in note.pointers.values()))
            elif isinstance(note, Copy):
                used.update(dict.fromkeys((note.source, note.target)))
            else:
                used[note.memory] = None
        return list(used)

    def _launch(self, work: KernelLaunch) -> list[Any]:
        export = work.function.export
        block = work.arguments
        pointers: dict[int, tuple[int, int]] = {}
        for parameter in export.layout.parameters:
            place = self._argument(parameter, block[parameter.offset : parameter.offset + parameter.size])
            if place is not None:
                pointers[parameter.offset] = place
        code = self._code(work)
        return [Dispatch(code, export.name, work.grid, work.block, work.dynamic_lds, block, pointers, _NOTHING)]

    def _argument(self, parameter: Parameter, data: bytes) -> Place | None:
        """The memory that an argument names; None for a number and a null pointer."""
        if parameter.kind is ParameterKind.DYNAMIC_LDS:
            return None
        if parameter.kind is ParameterKind.POINTER:
            address = int.from_bytes(data, "little")
            place = self._places.place(address) if address else None
            if address and place is None:
                raise NotKept(f"argument {parameter.label} is {address:#x}: {self._runtime.memory.describe(address)}")
            return place
        if len(data) == POINTER_SIZE and parameter.may_be_pointer:
            address = int.from_bytes(data, "little")
            memory = self._runtime.memory
            return self._places.place(address) if memory.is_inside(address) and memory.find(address) else None
        if len(data) > POINTER_SIZE:
            self._places.refuse_addresses(np.frombuffer(data, np.uint8), f"argument {parameter.label}")
        return None

    def _code(self, work: KernelLaunch) -> int:
        data = work.function.kernel.code_object.data
        number = self._codes.get(data)
        if number is None:
            number = self._codes[data] = len(self._codes)
            self._add(Code(number, data))
        return number

    def _copy(self, work: CopyWork) -> list[Any]:
        return self._rows(work.destination, work.size, work.source, work.size, work.size, 1)

    def _box(self, work: CopyBox) -> list[Any]:
        made = []
        for z in range(work.depth):
            target = work.destination + z * work.destination_slice
            source = work.source + z * work.source_slice
            made += self._rows(target, work.destination_pitch, source, work.source_pitch, work.width, work.height)
        return made

    def _rows(
        self, target: int, target_pitch: int, source: int, source_pitch: int, width: int, height: int
    ) -> list[Any]:
        """Rows between two sides, each of which is the device's or the host's."""
        if not (width and height):
            return []
        reads, writes = self._is_of_the_device(source), self._is_of_the_device(target)
        if reads and writes:
            length = width if height == 1 else 0
            places = self._known(source), self._known(target, length)
            return [Copy(*places[0], source_pitch, *places[1], target_pitch, width, height, _NOTHING)]
        rows = range(height)
        if writes:
            data = [self._host_bytes(source + row * source_pitch, width) for row in rows]
            return [self._update(target + row * target_pitch, data[row]) for row in rows]
        if reads:
            return [self._read(source + row * source_pitch, width) for row in rows]
        return []

    def _is_of_the_device(self, address: int) -> bool:
        region = self._places.region(address)
        return region is not None and not region.is_host

    def _host_bytes(self, address: int, size: int) -> bytes:
        return ctypes.string_at(self._runtime.allocations.host_address(address), size)

    def _known(self, address: int, writes: int = 0) -> Place:
        place = self._places.place(address, writes)
        if place is None:
            raise NotKept(f"{address:#x}: {self._runtime.memory.describe(address)}")
        return place

    def _upload(self, work: Upload) -> list[Any]:
        return [self._update(work.destination, work.data)]

    def _update(self, address: int, data: bytes) -> Update:
        self._places.refuse_addresses(np.frombuffer(data, np.uint8), "what is copied to the device")
        return Update(*self._known(address, len(data)), data, _NOTHING)

    def _read(self, address: int, size: int) -> Read:
        """The bytes are put in when the copy is over."""
        place = self._known(address)
        return Read(*place, self._runtime.memory.bytes(address, size).tobytes(), _NOTHING)

    def _fill(self, work: FillWork) -> list[Any]:
        pattern = (work.value & ((1 << 8 * work.element_size) - 1)).to_bytes(work.element_size, "little")
        width = work.width * work.element_size
        place = self._known(work.destination, width if work.height == 1 else 0)
        return [Fill(*place, work.pitch or width, width, work.height, pattern, _NOTHING)]

    def _write_value(self, work: WriteValue) -> list[Any]:
        mask = (1 << 8 * work.size) - 1
        return [self._update(work.address, (work.value & mask).to_bytes(work.size, "little"))]
