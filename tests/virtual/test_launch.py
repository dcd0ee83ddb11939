"""How a grid is cut, and what a launch refuses."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.virtual.faults import DeviceFault, FaultKind
from hipgraph_cb.virtual.launch import Launch


def launch(grid, workgroup, *, fixed_lds=0, dynamic_lds=0) -> Launch:
    descriptor = SimpleNamespace(group_segment_fixed_size=fixed_lds, private_segment_fixed_size=0)
    return Launch(SimpleNamespace(name="k", descriptor=descriptor), grid, workgroup, 0, dynamic_lds)


def test_a_partial_workgroup_counts_as_a_group():
    cut = launch((130, 70, 3), (16, 8, 2))
    assert cut.groups == (9, 9, 2)
    assert (cut.group_count, cut.lanes_per_group, cut.waves_per_group(64)) == (162, 256, 4)


def test_a_last_wave_may_be_partial():
    assert launch((50, 1, 1), (50, 1, 1)).waves_per_group(64) == 1
    assert launch((200, 1, 1), (200, 1, 1)).waves_per_group(64) == 4


def test_a_group_of_more_than_1024_items_is_refused():
    with pytest.raises(InvalidArgumentError) as caught:
        launch((2048, 1, 1), (64, 32, 1))
    assert str(caught.value) == (
        "the workgroup is too large\n  found: (64, 32, 1): 2048 work-items\n  allowed: at most 1024 work-items"
    )


def test_more_than_64_kib_of_lds_is_refused():
    with pytest.raises(InvalidArgumentError) as caught:
        launch((64, 1, 1), (64, 1, 1), fixed_lds=65536, dynamic_lds=4)
    assert caught.value.found == "65540 bytes (4 of them dynamic)"


def test_a_fault_report_names_everything_it_knows():
    fault = DeviceFault(
        FaultKind.ILLEGAL_ADDRESS,
        "48 bytes past the end of `y`, 4096 bytes",
        kernel="saxpy",
        pc=0x7F0000001234,
        offset=0x34,
        instruction="global_load_dword v1, v[2:3], off",
        workgroup=(3, 0, 0),
        wave=1,
        lane=17,
        address=0x7F0000009030,
    )
    assert fault.hip_code == 700
    assert str(fault) == (
        "memory access fault: 48 bytes past the end of `y`, 4096 bytes\n"
        "  kernel: saxpy\n"
        "  instruction: global_load_dword v1, v[2:3], off\n"
        "  pc: 0x7f0000001234 (entry +0x34)\n"
        "  workgroup: (3, 0, 0), wave 1, lane 17\n"
        "  address: 0x7f0000009030"
    )
