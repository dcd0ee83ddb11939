"""E1: for any bytes `verify` returns a result or raises a `HipGraphError`, and soon."""

from __future__ import annotations

import contextlib
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import elf
from support.steps import in_few_steps

from hipgraph_cb.code_object.hidden_args import LaunchShape, write_hidden
from hipgraph_cb.code_object.kernel_args import ParameterKind
from hipgraph_cb.code_object.verify import VerifiedExecutable, inspect
from hipgraph_cb.errors import HipGraphError

CORPUS = Path(__file__).parents[1] / "fixtures" / "corpus"
REAL = [
    (CORPUS / "clang" / "c_kern.gfx942.hsaco").read_bytes(),
    (CORPUS / "triton" / "vadd.gfx942.hsaco").read_bytes(),
]
BUILT = elf.code_object(
    elf.kernel("add", [elf.pointer(0), elf.argument(8, 4), elf.argument(16, 8, "hidden_block_count_x")]),
    elf.kernel("lds", [elf.argument(0, 4, "dynamic_shared_pointer")], reqd_workgroup_size=[64, 1, 1]),
)
MEMORY = 64 << 20
SHAPE = LaunchShape((256, 1, 1), (64, 1, 1))


def answer(data: bytes) -> VerifiedExecutable | None:
    """What `inspect` says of these bytes; None for a refusal of the whole. Anything but a HipGraphError gets out."""
    try:
        return inspect(data)
    except HipGraphError as error:
        assert str(error)
        return None


def use(executable: VerifiedExecutable) -> None:
    """Look at everything, and pack arguments for every usable kernel: nothing may be outside its block."""
    for error in executable.refused.values():
        assert isinstance(error, HipGraphError)
    with contextlib.suppress(HipGraphError):
        assert all(isinstance(name, str) for name in executable.globals)
    for export in executable.exports.values():
        layout = export.layout
        pointers = [row for row in layout.parameters if row.kind is ParameterKind.POINTER]
        assert all(row.size == 8 and row.offset + 8 <= layout.size for row in pointers)
        values = [None if row.kind is ParameterKind.POINTER else bytes(row.size) for row in layout.parameters]
        block = bytearray(layout.pack(values).block)
        write_hidden(block, layout, SHAPE)
        assert len(block) == layout.size >= export.descriptor.kernarg_size


@pytest.mark.parametrize("data", [*REAL, BUILT], ids=["clang", "triton", "built"])
def test_every_prefix_is_answered(data):
    refused = 0
    for length in range(len(data)):
        executable = answer(data[:length])
        refused += executable is None
    # Section headers stand behind the last segment in a linked file, and nobody needs them to load it.
    assert refused > len(data) // 2


def test_no_prefix_of_a_file_that_is_needed_to_its_end_is_sound():
    data = elf.notes_only(elf.metadata_note(elf.document(elf.kernel("add"))).rstrip(b"\0"))
    assert answer(data) is not None
    assert [length for length in range(len(data)) if answer(data[:length]) is not None] == []


@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    which=st.integers(0, 2),
    changes=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=8),
)
def test_changed_bytes_are_answered_and_never_make_a_dispatch_write_outside_its_block(which, changes):
    data = bytearray([*REAL, BUILT][which])
    for position, value in changes:
        data[position % len(data)] = value
    executable = in_few_steps(lambda: answer(bytes(data)))
    if executable is not None:
        in_few_steps(lambda: use(executable))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(position=st.integers(0, 1 << 20), value=st.sampled_from([0, 1, 0x7F, 0x80, 0xFE, 0xFF]), size=st.integers(1, 8))
def test_extreme_numbers_in_the_built_file_are_answered(position, value, size):
    data = bytearray(BUILT)
    start = position % (len(data) - size)
    data[start : start + size] = bytes([value]) * size
    executable = answer(bytes(data))
    if executable is not None:
        use(executable)


def test_no_count_in_a_file_drives_an_allocation():
    huge = elf.kernel("add", kernarg_segment_size=(1 << 32) - 1)
    rows = [
        elf.code_object(huge),
        elf.notes_only(elf.note_record(b"\x81\xaeamdhsa.kernels\xdd\xff\xff\xff\xff")),
        elf.header(program_headers=65535),
    ]
    tracemalloc.start()
    try:
        for data in rows:
            executable = answer(data)
            assert executable is None or "add" in executable.refused
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
