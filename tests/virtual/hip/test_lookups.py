"""Functions by name, occupancy, and choosing devices."""

from __future__ import annotations

import ctypes

import pytest
from support.devices import VIRTUAL_GPUS
from support.hip_program import done

from hipgraph_cb.abi.hip.structures import DeviceProperties, DevicePropertiesR0000


@pytest.mark.parametrize("function", ["hipGetProcAddress", "hipGetProcAddress_spt"])
def test_a_function_is_found_by_name_and_can_be_called(raw, function):
    out, status, count = ctypes.c_size_t(), ctypes.c_int(9), ctypes.c_int()
    assert getattr(raw, function)(b"hipGetDeviceCount", out, 602, 0, status) == 0
    assert status.value == 0
    assert ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(out.value)(ctypes.addressof(count)) == 0
    assert count.value == len(VIRTUAL_GPUS)
    assert getattr(raw, function)(b"hipNothing", out, 602, 0, status) == 1
    assert (out.value, status.value) == (0, 1)


def test_names_of_two_layouts_lead_to_the_current_one(raw):
    out, other = ctypes.c_size_t(), ctypes.c_size_t()
    assert raw.hipGetDriverEntryPoint(b"hipGetDeviceProperties", out, 0, 0) == 0
    assert raw.hipGetDriverEntryPoint(b"hipGetDevicePropertiesR0600", other, 0, 0) == 0
    assert out.value == other.value


def test_the_form_per_thread_is_preferred_where_it_is_asked_for(raw):
    plain, per_thread = ctypes.c_size_t(), ctypes.c_size_t()
    assert raw.hipGetDriverEntryPoint(b"hipMemcpy", plain, 0, 0) == 0
    assert raw.hipGetDriverEntryPoint_spt(b"hipMemcpy", per_thread, 0, 0) == 0
    assert plain.value != per_thread.value


def test_occupancy_counts_work_items_and_lds(raw, program):
    reduce_lds, blocks, grid = int(program.function("reduce_lds")), ctypes.c_int(), ctypes.c_int()
    lds = ctypes.c_int()
    assert raw.hipFuncGetAttribute(lds, 1, reduce_lds) == 0
    assert lds.value
    assert raw.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reduce_lds, 256, 0) == 0
    assert blocks.value == min(2048 // 256, 65536 // lds.value)
    flags = raw.hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
    assert flags(blocks, reduce_lds, 256, 32768, 0) == 0
    assert blocks.value == 65536 // (lds.value + 32768)
    assert flags(blocks, reduce_lds, 256, 0, 8) == 1
    for bad in (0, -1):
        blocks.value = 7
        assert raw.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reduce_lds, bad, 0) == 1
        assert blocks.value == 0
    assert raw.hipModuleOccupancyMaxPotentialBlockSize(grid, blocks, reduce_lds, 0, 0) == 0
    assert (grid.value, blocks.value) == (304 * min(2, 65536 // lds.value), 1024)
    assert raw.hipModuleOccupancyMaxPotentialBlockSize(grid, blocks, reduce_lds, 0, 100) == 0
    assert blocks.value == 128
    assert raw.hipModuleOccupancyMaxPotentialBlockSizeWithFlags(grid, blocks, reduce_lds, 0, 0, 1) == 0
    assert blocks.value == 1024
    assert raw.hipModuleOccupancyMaxPotentialBlockSizeWithFlags(grid, blocks, reduce_lds, 0, 0, 2) == 1


def test_dynamic_lds_that_is_left(raw, registered):
    left = ctypes.c_size_t()
    assert raw.hipOccupancyAvailableDynamicSMemPerBlock(left, registered["nothing"], 4, 64) == 0
    assert left.value == 65536 // 4
    assert raw.hipOccupancyAvailableDynamicSMemPerBlock(left, registered["nothing"], 64, 64) == 1
    blocks, block = ctypes.c_int(), ctypes.c_int()
    assert raw.hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, registered["scale_and_offset"], 4, 0) == 0
    assert blocks.value == 2048 // 64
    with_flags = raw.hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
    assert [with_flags(blocks, registered["scale_and_offset"], 4, 0, flags) for flags in (0, 1, 2)] == [0, 0, 1]
    assert raw.hipOccupancyMaxPotentialBlockSize(blocks, block, registered["scale_and_offset"], 0, 0) == 0
    assert block.value == 1024


def test_the_device_that_fits_is_chosen(raw, hip):
    chosen = ctypes.c_int(9)
    assert raw.hipChooseDeviceR0600(chosen, DeviceProperties(major=9)) == 0
    assert chosen.value == 0
    assert raw.hipChooseDevice(chosen, DevicePropertiesR0000(major=9)) == 0
    assert raw.hipSetValidDevices((ctypes.c_int * 1)(0), 1) == 0
    assert raw.hipChooseDevice(chosen, DevicePropertiesR0000(major=9)) == 0
    assert raw.hipSetValidDevices((ctypes.c_int * 1)(64), 1) == 101
    assert raw.hipSetValidDevices(0, 2) == 1
    assert done(hip.hipGetDevice()) == 0
