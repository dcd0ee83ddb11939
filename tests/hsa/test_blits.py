"""Fills, copies and the patch in front of an indirect dispatch: our own kernels, run on the virtual GPU."""

import itertools

import numpy as np
import pytest
from support.virtual_gpu import VirtualGpu

from hipgraph_cb.abi.hsa.aql import BARRIER_AND, KERNEL_DISPATCH
from hipgraph_cb.backend.blits import KERNELS, SHORT, WORKGROUP_SIZE, copy, fill, quickest_fill
from hipgraph_cb.backend.row_blits import ROW_KERNELS, copy_rows, fill_rows
from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.code_object.verify import verify
from hipgraph_cb.errors import UnavailableError
from hipgraph_cb.hsa import lowering
from hipgraph_cb.hsa.blits import blits_for
from hipgraph_cb.hsa.packets import BODY, DISPATCH_PACKET, header_word
from hipgraph_cb.hsa.template_writer import UNIT
from hipgraph_cb.recording.commands import Copy2D, Fill2D, Range
from hipgraph_cb.virtual.dispatch import execute
from hipgraph_cb.virtual.launch import Launch

ROOM = 320


@pytest.fixture(scope="module")
def gpu():
    return VirtualGpu(blits_for(TargetId.parse("gfx942")).data)


@pytest.fixture
def memory(gpu):
    """Makes an allocation with known bytes; returns its address and the bytes."""

    def make(seed):
        content = np.random.default_rng(seed).integers(0, 256, ROOM, np.uint8)
        return gpu.upload(content), content

    return make


def launch(gpu, kernel, lanes, workgroup, arguments):
    """As a packet would: the kernarg block is as long as in a template, a whole number of cache lines."""
    kernarg = gpu.upload(np.frombuffer(arguments.ljust(UNIT, b"\0"), np.uint8))
    execute(Launch(gpu.module.kernels[kernel], (lanes, 1, 1), (workgroup, 1, 1), kernarg), gpu.memory)


def run(gpu, blit):
    launch(gpu, blit.kernel, blit.lanes, WORKGROUP_SIZE, blit.arguments)


LENGTHS = (1, 2, 3, 15, 16, 17, 31, 33, 100, 256)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_copy_moves_its_bytes_and_no_others(gpu, memory, length):
    for source_offset, target_offset in itertools.product((0, 1, 4, 7, 8), (0, 2, 5, 8, 16)):
        source, given = memory(1)
        target, before = memory(2)
        run(gpu, copy(target + target_offset, source + source_offset, length, 128))
        expected = before.copy()
        expected[target_offset : target_offset + length] = given[source_offset : source_offset + length]
        np.testing.assert_array_equal(gpu.read(target, ROOM, np.uint8), expected)


@pytest.mark.parametrize("pattern", [b"\x5a", b"\x01\x02", b"\x01\x02\x03\x04"])
def test_a_fill_repeats_its_pattern_and_touches_nothing_else(gpu, memory, pattern):
    for length, offset in itertools.product(LENGTHS, (0, 1, 2, 4, 12, 15)):
        target, before = memory(3)
        run(gpu, fill(target + offset, length, pattern, 64))
        expected = before.copy()
        expected[offset : offset + length] = np.frombuffer((pattern * length)[:length], np.uint8)
        np.testing.assert_array_equal(gpu.read(target, ROOM, np.uint8), expected)


WHOLE = ((4, 0), (4, 4), (12, 8), (16, 0), (16, 16), (16, 4), (48, 32), (64, 4), (128, 16), (240, 0), (252, 4))
"""Lengths and offsets of which work-items move an element each: the last of a workgroup have none of their own."""


@pytest.mark.parametrize(("length", "offset"), WHOLE)
def test_a_copy_of_whole_elements_moves_them_and_no_others(gpu, memory, length, offset):
    source, given = memory(1)
    target, before = memory(2)
    blit = copy(target + offset, source + 16, length, 4096)
    run(gpu, blit)
    expected = before.copy()
    expected[offset : offset + length] = given[16 : 16 + length]
    np.testing.assert_array_equal(gpu.read(target, ROOM, np.uint8), expected)
    assert blit.kernel == ("copy_once_16" if length % 16 == offset % 16 == 0 else "copy_once_4")


@pytest.mark.parametrize("pattern", [b"\x5a", b"\x01\x02", b"\x01\x02\x03\x04"])
@pytest.mark.parametrize(("length", "offset"), WHOLE)
def test_a_fill_of_whole_elements_fills_them_and_no_others(gpu, memory, length, offset, pattern):
    target, before = memory(3)
    blit = quickest_fill(target + offset, length, pattern, 4096)
    run(gpu, blit)
    expected = before.copy()
    expected[offset : offset + length] = np.frombuffer((pattern * length)[:length], np.uint8)
    np.testing.assert_array_equal(gpu.read(target, ROOM, np.uint8), expected)
    assert blit.kernel == ("fill_once_16" if length % 16 == offset % 16 == 0 else "fill_once_4")


@pytest.mark.parametrize(
    ("target", "length", "most", "kernel"),
    [
        (0x1000, 16 * 4096, 4096, "fill_once_16"),
        (0x1000, 16 * 4096 + 16, 4096, "fill"),
        (0x1000, 16, WORKGROUP_SIZE - 1, "fill"),
        (0x1000, SHORT + 4, 4096, "fill"),
        (0x1004, SHORT, 4096, "fill_once_4"),
        (0x1004, SHORT + 4, 4096, "fill"),
        (0x1000, 6, 4096, "fill"),
        (0x1002, 8, 4096, "fill"),
    ],
)
def test_what_one_round_of_work_items_does_not_do_goes_to_the_general_kernel(target, length, most, kernel):
    blit = quickest_fill(target, length, b"1", most)
    assert (blit.kernel, blit.lanes <= most) == (kernel, True)


NOWHERE = Range(0, 0, 1)


@pytest.mark.parametrize("width", [1, 3, 4, 12, 16, 32, 48])
def test_a_copy_of_rows_moves_them_and_no_others_however_many_work_items_do_it(gpu, memory, width):
    for pitch, offset, most in itertools.product((width, width + 1, 64), (0, 4, 5, 16), (64, 128, 4096)):
        source, given = memory(4)
        target, before = memory(5)
        height = (ROOM - offset - width) // pitch + 1 if pitch * 5 > ROOM else 5
        run(gpu, copy_rows(target + offset, source, Copy2D(NOWHERE, NOWHERE, pitch, pitch, width, height), most))
        rows = np.arange(height)[:, None] * pitch + np.arange(width)
        before[rows + offset] = given[rows]
        np.testing.assert_array_equal(gpu.read(target, ROOM, np.uint8), before)


@pytest.mark.parametrize("pattern", [b"\x5a", b"\x01\x02", b"\x01\x02\x03\x04"])
def test_a_fill_of_rows_begins_each_with_its_pattern(gpu, memory, pattern):
    for width, pitch, offset in itertools.product((4, 16, 20, 64), (64, 76), (0, 4, 16, 1, 2)):
        target, before = memory(6)
        run(gpu, fill_rows(target + offset, Fill2D(NOWHERE, pattern, pitch, width, 4), 64))
        before[np.arange(4)[:, None] * pitch + np.arange(width) + offset] = np.frombuffer(
            (pattern * width)[:width], np.uint8
        )
        np.testing.assert_array_equal(gpu.read(target, ROOM, np.uint8), before)


@pytest.mark.parametrize(
    ("apart", "kernel"), [(0, "copy_16"), (16, "copy_16"), (8, "copy_8"), (4, "copy_4"), (6, "copy_2"), (3, "copy_1")]
)
def test_a_copy_takes_the_largest_steps_that_both_ends_allow(apart, kernel):
    assert copy(0x1005 + apart, 0x1005, 200, 4096).kernel == kernel


def test_a_long_copy_goes_round_in_a_loop():
    blit = copy(0x10000, 0x20000, 1 << 20, 4096)
    assert (blit.kernel, blit.lanes) == ("copy_16", 4096)


def patched(gpu, counts, hidden=(0, 4, 8), size=(64, 2, 1)):
    """The packet and the kernarg block after the patch kernel has run."""
    packet = np.zeros(1, DISPATCH_PACKET)
    packet["header"], packet["workgroup_size"], packet["completion_signal"] = BODY, size, 0x5160
    packet["kernel_object"], packet["kernarg_address"] = 0xABC, 0xDEF
    addresses = [gpu.upload(array) for array in (np.array(counts, np.uint32), packet, np.full(64, 0xFD, np.uint8))]
    header = header_word(KERNEL_DISPATCH, acquire=1, release=2)
    launch(gpu, "patch", 1, 1, lowering.PATCH_ARGUMENTS.pack(*addresses, header, *size, *hidden))
    return gpu.read(addresses[1], 64, np.uint8).view(DISPATCH_PACKET)[0], gpu.read(addresses[2], 64, np.uint8), header


def test_the_patch_writes_the_grid_and_the_counts_and_publishes_the_packet(gpu):
    packet, kernargs, header = patched(gpu, (7, 5, 3))
    assert packet["grid_size"].tolist() == [448, 10, 3]
    assert packet["workgroup_size"].tolist() == [64, 2, 1]
    assert (packet["kernel_object"], packet["kernarg_address"], packet["completion_signal"]) == (0xABC, 0xDEF, 0x5160)
    assert packet["header"] == header
    assert kernargs[:12].view(np.uint32).tolist() == [7, 5, 3]
    assert set(kernargs[12:].tolist()) == {0xFD}


def test_the_patch_writes_no_counts_where_the_kernel_has_no_place_for_them(gpu):
    packet, kernargs, _header = patched(gpu, (7, 5, 3), hidden=(lowering.NO_HIDDEN,) * 3)
    assert packet["grid_size"].tolist() == [448, 10, 3]
    assert set(kernargs.tolist()) == {0xFD}


@pytest.mark.parametrize("counts", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_a_count_of_zero_makes_the_packet_a_barrier_that_waits_for_nothing(gpu, counts):
    packet, _kernargs, header = patched(gpu, counts)
    assert packet["header"] == (header & 0xFF00) | BARRIER_AND
    assert packet.tobytes()[4:56] == bytes(52)
    assert packet["completion_signal"] == 0x5160


def test_a_grid_that_32_bits_do_not_hold_makes_a_packet_that_stops_the_queue(gpu):
    packet, kernargs, header = patched(gpu, (1, 1 << 31, 1))
    assert packet["header"] == (header & ~0xFF) | 6
    assert set(kernargs.tolist()) == {0xFD}
    packet, _kernargs, _header = patched(gpu, (0, 1 << 31, 1))
    assert packet["header"] & 0xFF == BARRIER_AND


@pytest.mark.parametrize("file", sorted(KERNELS.glob("*.hsaco")), ids=lambda file: file.name)
def test_every_code_object_takes_the_arguments_that_are_passed(file):
    exports = verify(file.read_bytes()).exports
    general = ["copy_1", "copy_16", "copy_2", "copy_4", "copy_8", "fill"]
    once = ["copy_once_16", "copy_once_4", "fill_once_16", "fill_once_4"]
    assert sorted(exports) == sorted([*general, *once, *ROW_KERNELS, "patch"])
    layouts = {name: [(row.offset, row.size) for row in export.parameters] for name, export in exports.items()}
    copy_layout = [(0, 8), (8, 8), (16, 8), (24, 4), (28, 4), (32, 4)]
    assert all(layouts[name] == copy_layout for name in general[:-1])
    assert layouts["copy_once_4"] == layouts["copy_once_16"] == [(0, 8), (8, 8), (16, 4)]
    assert layouts["fill_once_4"] == layouts["fill_once_16"] == [(0, 8), (8, 4), (12, 4)]
    row_layouts = {"copy": [*((8 * place, 8) for place in range(6)), (48, 4), (52, 4)]}
    row_layouts["fill"] = [*((8 * place, 8) for place in range(4)), (32, 4), (36, 4), (40, 4)]
    assert all(layouts[name] == row_layouts[name.split("_")[0]] for name in ROW_KERNELS)
    assert layouts["fill"] == [(0, 8), (8, 8), (16, 4), (20, 4), (24, 4), (28, 4)]
    addresses = [(lowering.PATCH_COUNTS, 8), (lowering.PATCH_PACKET, 8), (lowering.PATCH_KERNARGS, 8)]
    halves = [(offset, 2) for offset in range(28, 40, 2)]
    assert layouts["patch"] == [*addresses, (lowering.PATCH_HEADER, 4), *halves]
    assert not any(export.layout.hidden for export in exports.values())


@pytest.mark.parametrize(
    ("target", "made_for"),
    [
        ("gfx942:sramecc+:xnack-", "gfx942"),
        ("gfx90a", "gfx90a"),
        ("gfx1100", "gfx1100"),
        ("gfx1103", "gfx11-generic"),
        ("gfx1200", "gfx12-generic"),
        ("gfx906", "gfx9-generic"),
    ],
)
def test_the_code_object_is_that_of_the_target_or_of_its_family(target, made_for):
    assert blits_for(TargetId.parse(target)).target.processor == made_for


def test_a_target_without_kernels_is_named():
    with pytest.raises(UnavailableError) as caught:
        blits_for(TargetId.parse("gfx803"))
    assert str(caught.value) == (
        "open_device: the HSA backend has no fill and copy kernels for this target\n"
        "  found: gfx803\n"
        "  allowed: gfx1100, gfx1201, gfx908, gfx90a, gfx942, gfx10-1-generic, gfx10-3-generic, gfx11-generic, "
        "gfx12-generic, gfx9-generic\n"
        "  next: open the device with backend='hip'"
    )
