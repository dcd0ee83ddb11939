"""Dispatches: from a call's arguments to a form and a block, or to None where there is no workgroup (R4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hipgraph_cb.code_object.packing import COUNT, Unpackable
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, OutOfRangeError
from hipgraph_cb.recording.commands import DispatchIndirect, Location, Pointers, Range
from hipgraph_cb.recording.commands.dispatch import COUNTS_ALIGNMENT, COUNTS_SIZE
from hipgraph_cb.recording.dispatch_plan import DispatchPlan, is_plain
from hipgraph_cb.recording.forms import WORD, write_word
from hipgraph_cb.recording.launch_form import LaunchForm, shape_targets
from hipgraph_cb.recording.launch_options import check_known_shape, checked_options
from hipgraph_cb.recording.number_types import NUMBER_TYPES
from hipgraph_cb.recording.open_numbers import (
    ArgumentNumbers,
    OpenShape,
    is_open,
    take_arguments,
    take_constants,
    take_shape,
)
from hipgraph_cb.recording.push_constants import PushedArguments
from hipgraph_cb.recording.resource_builder import ResourceBuilder
from hipgraph_cb.recording.validation import check_list, integer, text
from hipgraph_cb.recording.workgroups import LARGEST_GRID, check_grid, dimensions, workgroup_size

if TYPE_CHECKING:
    from hipgraph_cb.code_object.kernel_args import PackedArguments
    from hipgraph_cb.code_object.limits import DeviceLimits
    from hipgraph_cb.recording.command_table import CommandTable

Accesses = tuple[tuple[Location, bool, bool], ...]
PackedShape = tuple[int, int, int, bytes]
"""Workgroup counts, and what else stands in a block for a shape."""
KNOWN_SHAPE = OpenShape((None, None, None), None)


class DispatchMaker:
    """Makes the dispatches of one command buffer.

    Attributes:
        pushed_arguments: what dispatches without arguments take.
    """

    __slots__ = ("_limits", "_plans", "_plans_by_name", "_resources", "_table", "pushed_arguments")

    def __init__(self, resources: ResourceBuilder, table: CommandTable, limits: DeviceLimits | None) -> None:
        self.pushed_arguments = PushedArguments()
        self._resources = resources
        self._table = table
        self._limits = limits
        self._plans: dict[object, DispatchPlan] = {}
        self._plans_by_name: dict[tuple[int, str], DispatchPlan] = {}

    def make(
        self,
        export: Any,
        workgroup_count: object,
        size: object,
        args: Sequence[object] | None,
        bindings: Sequence[object] | None,
        constants: Sequence[Any] | None,
        dynamic_lds: object,
        reads: Sequence[object] | None,
        writes: Sequence[object] | None,
        label: str | None,
    ) -> tuple[int, bytes] | None:
        """See `CommandBuffer.dispatch`."""
        if label is not None:
            text(label)
        if args.__class__ is not list or not (bindings is reads is writes is None):
            _check_lists(args, bindings, reads, writes)
        try:
            plan = self._plans[export]
        except (KeyError, TypeError):
            plan = self._plan(export)
        shape: OpenShape | None = None
        if (workgroup_count.__class__ is not int or dynamic_lds.__class__ is not int) and is_open(
            workgroup_count, dynamic_lds
        ):
            workgroup_count, dynamic_lds, shape = take_shape(self._resources, workgroup_count, dynamic_lds)
        if workgroup_count.__class__ is int and 0 < workgroup_count <= LARGEST_GRID:
            x, y, z = workgroup_count, 1, 1
        else:
            x, y, z = dimensions(workgroup_count, "workgroup_count")
            if not (x and y and z):
                _check_unused(size, dynamic_lds)
                return None
        try:
            accepted = plan.sizes[size, dynamic_lds]
        except (KeyError, TypeError):
            accepted = None
        if accepted is None or not (accepted.given is size or is_plain(size)) or dynamic_lds.__class__ is not int:
            accepted = plan.accept((size, dynamic_lds), (x, y, z), self._resources.validate)
        rest, most_x, most_y, most_z, taken, _ = accepted
        if x > most_x or y > most_y or z > most_z:
            check_grid((x, y, z), taken, plan.limits)
        if shape is not None:
            x, y, z = (count if each is None else 0 for count, each in zip((x, y, z), shape.counts, strict=True))
        numbers: ArgumentNumbers = []
        block = None
        if args is not None and bindings is constants is None:
            try:
                block = plan.pack(args, self._resources, x, y, z, rest)
            except (HipGraphError, *Unpackable):
                pass  # the rules say what is wrong, if anything is
            form = plan.form
            if block is None:
                form, block, numbers = self._packed(plan, args, (x, y, z, rest))
            elif form is None:
                form = self._form(plan, plan.by_value)
        else:
            packed, numbers = self._arguments(plan, args, bindings, constants)
            form, block = self._placed(plan, packed, (x, y, z, rest))
        if not (reads is writes is None):
            form, block = self._with_accesses(form, block, self._accesses(reads or (), writes or ()))
        if numbers or shape is not None:
            return self._with_numbers(form, block, shape or KNOWN_SHAPE, numbers)
        return form, block

    def make_indirect(
        self,
        export: Any,
        workgroup_count: object,
        size: object,
        args: Sequence[object] | None,
        bindings: Sequence[object] | None,
        constants: Sequence[Any] | None,
        dynamic_lds: object,
        reads: Sequence[object] | None,
        writes: Sequence[object] | None,
        label: str | None,
    ) -> DispatchIndirect:
        """See `CommandBuffer.dispatch_indirect`."""
        text(label)
        _check_lists(args, bindings, reads, writes)
        plan = self._plan(export)
        counts = self._counts(workgroup_count)
        _, dynamic_lds, shape = take_shape(self._resources, (), dynamic_lds)
        taken, lds = workgroup_size(plan.export, size), integer(dynamic_lds, "dynamic_lds")
        if self._resources.validate:
            plan.check(((1, 1, 1), taken, lds))
        packed, numbers = self._arguments(plan, args, bindings, constants)
        pointers: Pointers = tuple([(offset, self._place(plan, offset, value)) for offset, value in packed.pointers])
        executable = self._resources.executable(plan.executable)
        accesses = self._accesses(reads or (), writes or ())
        amount = lds if shape.lds is None else shape.lds
        head = executable, plan.name, counts, taken, amount, packed.block, pointers, accesses
        return DispatchIndirect(*head, tuple(numbers), label)

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

    def _packed(
        self, plan: DispatchPlan, values: Sequence[object], shape: PackedShape
    ) -> tuple[int, bytes, ArgumentNumbers]:
        """Form and block of arguments in the kernel's own order, of other types than those that came last."""
        values, numbers = take_arguments(self._resources, plan.layout, values)
        types = tuple(map(type, values))
        known = plan.packers.get(types) or plan.layout.packer(types)
        if known is not None:
            plan.pack, plan.by_value = known
            plan.form = plan.forms.get(plan.by_value)
            try:
                block = plan.pack(values, self._resources, *shape)
            except (HipGraphError, *Unpackable):
                block = None  # said below
            if block is not None:
                return self._form(plan, plan.by_value), block, numbers
        packed = plan.layout.pack(values)
        by_value = _by_value(plan, packed)
        if by_value:
            plan.layout.packer(types, by_value)  # for the next one
        return *self._placed(plan, packed, shape), numbers

    def _arguments(
        self,
        plan: DispatchPlan,
        args: Sequence[object] | None,
        bindings: Sequence[object] | None,
        constants: Sequence[Any] | None,
    ) -> tuple[PackedArguments, ArgumentNumbers]:
        """What was given, or else pushed, by the rules of the kernel's layout; and the numbers in slots among it."""
        packed: PackedArguments
        numbers: ArgumentNumbers = []
        if args is bindings is constants is None and self.pushed_arguments:
            packed = self.pushed_arguments.pack(plan.layout)
        elif bindings is None and constants is None:
            values, numbers = take_arguments(self._resources, plan.layout, () if args is None else args)
            packed = plan.layout.pack(values)
        else:
            constants, numbers = take_constants(self._resources, plan.layout, constants)
            packed = _pack_hal(plan, args, bindings, constants)
        return packed, numbers

    def _placed(self, plan: DispatchPlan, packed: PackedArguments, shape: PackedShape) -> tuple[int, bytes]:
        """Form and block of packed arguments, with the word of each pointer in its place."""
        x, y, z, rest = shape
        size = plan.layout.block_size
        block = bytearray(packed.block[:size].ljust(size, b"\0"))
        for offset, value in packed.pointers:
            write_word(block, offset, self._resources.place(self._place(plan, offset, value)))
        return self._form(plan, _by_value(plan, packed)), b"".join((block, COUNT.pack(x, y, z), rest))

    def _place(self, plan: DispatchPlan, offset: int, value: object) -> Location:
        """Where the pointer at `offset` leads."""
        try:
            return self._resources.locate(value, "a pointer argument")
        except HipGraphError as error:
            raise error.located(plan.parameter(offset)) from None

    def _form(self, plan: DispatchPlan, by_value: tuple[int, ...]) -> int:
        """The number of the kernel's form, which names the executable.

        Args:
            by_value: the offsets of addresses that are given for values.
        """
        number = plan.forms.get(by_value)
        if number is None:
            layout = plan.layout
            executable = self._resources.executable(plan.executable)
            facts = layout.size, layout.block_size, layout.pointer_offsets(by_value)
            form = LaunchForm(executable, plan.name, *facts)
            number = plan.forms[by_value] = self._table.form(form.key, form)
        if by_value == plan.by_value:
            plan.form = number
        return number

    def _with_accesses(self, number: int, block: bytes, accesses: Accesses) -> tuple[int, bytes]:
        """The same with declared accesses, whose places stand behind the shape."""
        plain: Any = self._table.forms[number]
        form = plain.with_accesses(tuple([(reads, writes) for _, reads, writes in accesses]))
        words = [self._resources.place(place).to_bytes(WORD, "little") for place, _, _ in accesses]
        return self._table.form(form.key, form), b"".join((block, *words))

    def _with_numbers(self, number: int, block: bytes, shape: OpenShape, numbers: ArgumentNumbers) -> tuple[int, bytes]:
        """The same with numbers in slots, whose words are at the end."""
        plain: Any = self._table.forms[number]
        inside = ((offset, NUMBER_TYPES[each.type].size) for offset, each in numbers)
        form = plain.with_numbers((*shape_targets(plain.extent, shape.counts, shape.lds), *inside))
        places = (*shape.numbers, *(each for _, each in numbers))
        words = [self._resources.number_word(place).to_bytes(WORD, "little") for place in places]
        return self._table.form(form.key, form), b"".join((block, *words))

    def with_options(self, made: tuple[int, bytes], cooperative: object, priority: object) -> tuple[int, bytes]:
        """What was made, with options beyond the shape."""
        plain: Any = self._table.forms[made[0]]
        options = checked_options(cooperative, priority)
        if plain.has_open_shape:
            check_known_shape(options)
        form = plain.with_options(options)
        return self._table.form(form.key, form), made[1]

    def _accesses(self, reads: Sequence[object], writes: Sequence[object]) -> tuple[tuple[Location, bool, bool], ...]:
        locate = self._resources.locate
        read = [(locate(value, "an entry of reads"), True, False) for value in reads]
        return (*read, *((locate(value, "an entry of writes"), False, True) for value in writes))

    def _limits_of(self, executable: Any) -> DeviceLimits | None:
        """Those of the device that the code is on, where the owner is a group of several."""
        owner: Any = self._resources.owner
        is_member = hasattr(owner, "number_of") and owner.accepts(executable)
        limits: DeviceLimits | None = executable.device.limits if is_member else self._limits
        return limits

    def _plan(self, export: Any) -> DispatchPlan:
        """The plan of a kernel, made or found.

        Plans are found by the export object, or by executable and name where the caller looks the export up again for
        every call. The objects are held, so that no other can take their identity.
        """
        try:
            executable = export.executable
            key = (id(executable), export.name)
        except AttributeError:
            raise InvalidArgumentError(
                "export is no kernel", found=type(export).__name__, allowed='an Export, such as executable["saxpy"]'
            ) from None
        plan = self._plans_by_name.get(key)
        if plan is None:
            plan = self._plans_by_name[key] = DispatchPlan(executable, export, self._limits_of(executable))
            self._resources.caches.append(plan)
        if export.__hash__ is not None:
            self._plans[export] = plan
        return plan


def _by_value(plan: DispatchPlan, packed: PackedArguments) -> tuple[int, ...]:
    by_value = plan.layout.addresses_by_value
    return tuple([offset for offset, _ in packed.pointers if offset in by_value])


def _check_unused(size: object, dynamic_lds: object) -> None:
    """What a dispatch without workgroups is still refused for."""
    integer(dynamic_lds, "dynamic_lds")
    if size is not None:
        dimensions(size, "workgroup_size")


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
    constants: Sequence[Any] | None,
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
