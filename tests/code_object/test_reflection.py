"""What a verified executable says about itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import elf

from hipgraph_cb.code_object.kernel_args import ParameterKind
from hipgraph_cb.code_object.verify import inspect

FIXTURES = Path(__file__).parents[1] / "fixtures"


def test_parameters_state_index_offset_size_kind_and_access():
    row = elf.kernel(
        "k",
        [
            elf.pointer(0, name="out", type_name="float*", access="write_only"),
            elf.pointer(8, is_const=True),
            elf.argument(16, 24),
            elf.argument(40, 4, "hidden_block_count_x"),
            elf.argument(44, 2),
        ],
    )
    export = inspect(elf.code_object(row)).exports["k"]
    assert [(row.index, row.name, row.offset, row.size, row.kind) for row in export.parameters] == [
        (0, "out", 0, 8, ParameterKind.POINTER),
        (1, None, 8, 8, ParameterKind.POINTER),
        (2, None, 16, 24, ParameterKind.VALUE),
        (3, None, 44, 2, ParameterKind.VALUE),
    ]
    assert [row.access for row in export.parameters] == ["write_only", None, None, None]
    assert [row.is_const for row in export.parameters] == [False, True, False, False]
    assert (export.layout.binding_count, export.layout.constant_count) == (2, 7)


@pytest.mark.parametrize(("keys", "dynamic"), [({}, True), ({"reqd_workgroup_size": [8, 8, 1]}, False)])
def test_a_kernel_without_a_required_size_needs_one_at_each_dispatch(keys, dynamic):
    export = inspect(elf.code_object(elf.kernel("k", **keys))).exports["k"]
    assert export.has_dynamic_workgroup_size is dynamic


def test_globals_are_the_objects_that_are_not_kernel_descriptors():
    executable = inspect((FIXTURES / "loader" / "relocated.gfx942.hsaco").read_bytes())
    assert list(executable.exports) == ["empty"]
    # Sizes as the assembler source beside the file states them: a .long and a .quad.
    assert {name: symbol.size for name, symbol in executable.globals.items()} == {"value": 4, "pointer": 8}


def test_a_plain_c_kernel_that_is_a_local_symbol_is_found():
    executable = inspect((FIXTURES / "corpus" / "clang" / "c_kern.gfx942.hsaco").read_bytes())
    assert list(executable.exports) == ["c_saxpy", "c_sizes", "c_count"]
    assert not any(name in executable.globals for name in executable.exports)


def test_an_argument_of_two_bytes_does_not_make_its_module_unusable():
    small = elf.kernel("small", [elf.argument(0, 2)])
    assert list(inspect(elf.code_object(small, elf.kernel("k"))).exports) == ["small", "k"]


@pytest.mark.parametrize("size", [256, 300, 70_000])
def test_a_large_structure_by_value_keeps_its_size_and_what_follows_its_place(size):
    row = elf.kernel("k", [elf.argument(0, size), elf.argument(size, 4)])
    export = inspect(elf.code_object(row)).exports["k"]
    assert export.kernarg_size == size + 4
    block = export.layout.pack([b"\x11" * size, 7]).block
    assert block == b"\x11" * size + b"\x07\0\0\0"


def test_space_behind_the_last_argument_is_not_a_hidden_argument():
    row = elf.kernel("k", [elf.argument(0, 4)], kernarg_segment_size=264)
    layout = inspect(elf.code_object(row)).exports["k"].layout
    assert layout.hidden == ()
    assert layout.pack([7]).block == b"\x07".ljust(264, b"\0")
