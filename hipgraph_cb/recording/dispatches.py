"""Dispatches: from a call's arguments to a command value, or to None where there is no workgroup (R4)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, OutOfRangeError
from hipgraph_cb.recording.bindings import COUNTS_ALIGNMENT
from hipgraph_cb.recording.commands import Dispatch, DispatchIndirect, Location, Pointers, Range
from hipgraph_cb.recording.dispatch_plan import DispatchPlan, Memory, Shape
from hipgraph_cb.recording.push_constants import PushedArguments
from hipgraph_cb.recording.resource_builder import ResourceBuilder
from hipgraph_cb.recording.validation import check_list, integer, text
from hipgraph_cb.recording.workgroups import dimensions, workgroup_size

if TYPE_CHECKING:
    from hipgraph_cb.code_object.kernel_args import PackedArguments
    from hipgraph_cb.code_object.limits import DeviceLimits

COUNTS_SIZE = 12
"""Bytes of the workgroup counts of an indirect dispatch: x, y, z as 32-bit numbers."""
NO_ACCESSES: tuple[()] = ()
_new = tuple.__new__
"""Makes a named tuple without the call of its own constructor, which costs as much again."""


class DispatchMaker:
    """Makes the dispatches of one command buffer."""

    __slots__ = ("_ids", "_limits", "_pairs", "_plans", "_plans_by_export", "_resources")

    def __init__(self, resources: ResourceBuilder, limits: DeviceLimits | None) -> None:
        self._resources = resources
        self._pairs = resources.pairs
        self._ids = resources.ids
        self._limits = limits
        self._plans: dict[tuple[int, str], DispatchPlan] = {}
        self._plans_by_export: dict[int, tuple[DispatchPlan, object]] = {}

    def repeated(
        self,
        export: Any,
        workgroup_count: object,
        size: object,
        args: Sequence[object],
        dynamic_lds: object,
        label: str | None,
    ) -> tuple[Dispatch, bytes] | None:
        """What `make` makes, as a model without a label and a kernarg block, if it made the like of it before: the same
        kernel and shape, numbers of the same types, and whole buffers that came together. Else None."""
        try:
            plan = self._plans_by_export[id(export)][0]
            given_count, given_size, given_lds = plan.given
            if (
                workgroup_count is not given_count or size is not given_size or dynamic_lds is not given_lds
            ) and not plan.takes((workgroup_count, size, dynamic_lds)):
                return None
            if len(args) != plan.argument_count or (label is not None and type(label) is not str):
                return None
            numbers = plan.numbers(args)
            if list(map(type, numbers)) != plan.number_types:
                return None
            return plan.models[plan.addresses(args)], plan.pack_head(*numbers)
        except (KeyError, TypeError, struct.error, OverflowError):
            return None  # `make` says what is wrong, if anything is

    def make(
        self,
        export: Any,
        workgroup_count: object,
        size: object,
        args: Sequence[object] | None,
        bindings: Sequence[object] | None,
        constants: Sequence[int] | None,
        dynamic_lds: object,
        reads: Sequence[object] | None,
        writes: Sequence[object] | None,
        pushed: PushedArguments | None,
        label: str | None,
    ) -> Dispatch | None:
        """See `CommandBuffer.dispatch`."""
        if label is not None:
            text(label)
        if type(args) is not list or bindings is not None or reads is not None or writes is not None:
            _check_lists(args, bindings, reads, writes)
        known = self._plans_by_export.get(id(export))
        plan = self._plan(export) if known is None else known[0]
        given = workgroup_count, size, dynamic_lds
        if not plan.takes(given):
            shape = self._shape(plan, *given)
            if shape is None:
                return None
            plan.accept(given, shape)
        memory = None
        if pushed is not None:
            block, pointers = self._placed(plan, pushed.pack(plan.layout))
        elif bindings is None and constants is None:
            block, pointers, memory = self._packed(plan, () if args is None else args)
        else:
            block, pointers = self._placed(plan, _pack_hal(plan, args, bindings, constants))
        executable = self._ids.get(plan.key)
        if executable is None:
            executable = self._resources.executable(plan.executable)
        accesses = NO_ACCESSES if reads is None and writes is None else self._accesses(reads or (), writes or ())
        count, taken, lds = plan.accepted
        command = _new(Dispatch, (executable, plan.name, count, taken, lds, block, pointers, accesses, label))
        if memory is not None and not accesses:
            plan.models[memory] = command if label is None else command._replace(label=None)
        return command

    def make_indirect(
        self,
        export: Any,
        workgroup_count: object,
        size: object,
        args: Sequence[object] | None,
        bindings: Sequence[object] | None,
        constants: Sequence[int] | None,
        dynamic_lds: object,
        reads: Sequence[object] | None,
        writes: Sequence[object] | None,
        pushed: PushedArguments | None,
        label: str | None,
    ) -> DispatchIndirect:
        """See `CommandBuffer.dispatch_indirect`."""
        text(label)
        _check_lists(args, bindings, reads, writes)
        plan = self._plan(export)
        counts = self._counts(workgroup_count)
        taken, lds = workgroup_size(plan.export, size), integer(dynamic_lds, "dynamic_lds")
        if self._resources.validate:
            plan.check(((1, 1, 1), taken, lds), self._limits)
        if pushed is not None:
            packed = pushed.pack(plan.layout)
        elif bindings is None and constants is None:
            packed = plan.layout.pack(() if args is None else args)
        else:
            packed = _pack_hal(plan, args, bindings, constants)
        block, pointers = self._placed(plan, packed)
        executable = self._resources.executable(plan.executable)
        accesses = self._accesses(reads or (), writes or ())
        return DispatchIndirect(executable, plan.name, counts, taken, lds, block, pointers, accesses, label)

    def _counts(self, value: object) -> Location:
        """The 12 bytes of workgroup counts."""
        place = self._resources.locate(value, "workgroup_count")
        if place.length is not None and place.length < COUNTS_SIZE:
            raise OutOfRangeError(
                "workgroup_count is too small for three 32-bit numbers",
                found=f"{place.length} bytes",
                allowed=f"{COUNTS_SIZE} bytes or more",
            )
        if place.offset % COUNTS_ALIGNMENT:
            raise InvalidArgumentError(
                "workgroup_count is misaligned",
                found=f"offset {place.offset}",
                allowed=f"a multiple of {COUNTS_ALIGNMENT}",
            )
        if isinstance(place, Range):
            return Range(place.resource, place.offset, COUNTS_SIZE)
        return place._replace(length=COUNTS_SIZE)

    def _shape(self, plan: DispatchPlan, workgroup_count: object, size: object, dynamic_lds: object) -> Shape | None:
        """The launch shape, checked; None where there is no workgroup."""
        count = dimensions(workgroup_count, "workgroup_count")
        lds = integer(dynamic_lds, "dynamic_lds")
        if 0 in count:
            if size is not None:
                dimensions(size, "workgroup_size")
            return None
        shape = count, workgroup_size(plan.export, size), lds
        if self._resources.validate:
            plan.check(shape, self._limits)
        return shape

    def _packed(self, plan: DispatchPlan, values: Sequence[object]) -> tuple[bytes, Pointers, Memory | None]:
        """Block and pointers of arguments in the kernel's own order, and the buffers where all of them are whole."""
        block, pointers = self._placed(plan, plan.layout.pack(values))
        packer = plan.packers.get(tuple(map(type, values)))
        if packer is None:
            return block, pointers, None
        plan.argument_count, plan.numbers, plan.addresses = len(values), packer.numbers, packer.addresses
        plan.number_types, plan.pack_head = list(map(type, packer.numbers(values))), packer.pack_head
        memory = packer.addresses(values)
        if not all(value is None or id(value) in self._pairs for value in memory):
            return block, pointers, None
        return block, plan.places.setdefault(memory, pointers), memory

    def _placed(self, plan: DispatchPlan, packed: PackedArguments) -> tuple[bytes, Pointers]:
        """Packed arguments, and where each of their pointers leads."""
        return packed.block, tuple([self._place(plan, offset, value) for offset, value in packed.pointers])

    def _place(self, plan: DispatchPlan, offset: int, value: object) -> tuple[int, Location]:
        """Where the pointer at `offset` leads; the pair of an offset and a whole buffer is made once."""
        try:
            place = self._resources.locate(value, "a pointer argument")
        except HipGraphError as error:
            raise error.located(plan.parameter(offset)) from None
        known = self._pairs.get(id(value))
        return (offset, place) if known is None else known.setdefault(offset, (offset, place))

    def _accesses(self, reads: Sequence[object], writes: Sequence[object]) -> tuple[tuple[Location, bool, bool], ...]:
        locate = self._resources.locate
        read = [(locate(value, "an entry of reads"), True, False) for value in reads]
        return (*read, *((locate(value, "an entry of writes"), False, True) for value in writes))

    def _plan(self, export: Any) -> DispatchPlan:
        """The plan of a kernel, made or found.

        Plans are found by the export object, or by executable and name where the caller looks the export up anew for
        every call. The objects are held, so that no other can take their identity.
        """
        try:
            executable = export.executable
            key = (id(executable), export.name)
        except AttributeError:
            raise InvalidArgumentError(
                "export is no kernel", found=type(export).__name__, allowed='an Export, such as executable["saxpy"]'
            ) from None
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = DispatchPlan(executable, export)
            self._resources.caches.append(plan)
        self._plans_by_export[id(export)] = (plan, export)
        return plan


def _check_lists(args: object, bindings: object, reads: object, writes: object) -> None:
    for name, value, entries in (
        ("args", args, "arguments"),
        ("bindings", bindings, "buffers, views and slots"),
        ("reads", reads, "buffers, views and slots"),
        ("writes", writes, "buffers, views and slots"),
    ):
        if value is not None and type(value) is not list:
            check_list(value, name, entries)


def _pack_hal(
    plan: DispatchPlan,
    args: Sequence[object] | None,
    bindings: Sequence[object] | None,
    constants: Sequence[int] | None,
) -> PackedArguments:
    if args is not None:
        raise InvalidArgumentError(
            "the arguments were given twice",
            found="args= and bindings= or constants=",
            allowed="args= in the kernel's own order, or bindings= and constants=",
        )
    packed: PackedArguments = plan.layout.pack_hal(
        () if bindings is None else bindings, () if constants is None else constants
    )
    return packed
