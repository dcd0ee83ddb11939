"""Hidden arguments: what the launcher writes behind a kernel's own arguments.

The metadata lists them with their offsets; no others are written. Values follow AMD's runtime: block counts
are whole workgroups only (floor), and the remainder is the size of the partial one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hipgraph_cb.code_object.kernel_args import KernargLayout


@dataclass(frozen=True)
class LaunchShape:
    """What the hidden arguments say about a launch.

    `grid` in work-items, `workgroup` in work-items of one group, `dynamic_lds` in bytes. `dimensions` is 3 for every
    launch through HIP. `addresses` holds values of the pointer-like kinds (`hidden_queue_ptr`, `hidden_heap_v1`, ...);
    what is not there is zero.
    """

    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    dynamic_lds: int = 0
    dimensions: int = 3
    addresses: dict[str, int] = field(default_factory=dict)


def write_hidden(block: bytearray, layout: KernargLayout, shape: LaunchShape) -> None:
    """Fill the hidden arguments of `layout` into its kernarg `block`; kinds that are not known stay as they are."""
    values = _values(shape)
    for argument in layout.hidden:
        value = values.get(argument.kind)
        if value is not None:
            mask = (1 << 8 * argument.size) - 1
            end = argument.offset + argument.size
            block[argument.offset : end] = (value & mask).to_bytes(argument.size, "little")


def _values(shape: LaunchShape) -> dict[str, int]:
    values = {
        "hidden_grid_dims": shape.dimensions,
        "hidden_dynamic_lds_size": shape.dynamic_lds,
        **shape.addresses,
    }
    for axis, grid, workgroup in zip("xyz", shape.grid, shape.workgroup, strict=True):
        values[f"hidden_block_count_{axis}"] = grid // workgroup
        values[f"hidden_group_size_{axis}"] = workgroup
        values[f"hidden_remainder_{axis}"] = grid % workgroup
    return values
