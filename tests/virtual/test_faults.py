"""A fault of a kernel is reported with kernel, instruction, PC, place in the grid and address."""

from __future__ import annotations

import numpy as np
import pytest
from support.assembled import assembled, run_program
from support.virtual_gpu import VirtualGpu

from hipgraph_cb.virtual.faults import DeviceFault, FaultKind


def test_a_store_past_the_end_of_a_buffer_is_reported_whole():
    gpu = VirtualGpu("clang/k_cl.gfx942.hsaco")
    x = gpu.upload(np.ones(1000, np.float32), "x")
    y = gpu.upload(np.ones(1000, np.float32), "y")
    with pytest.raises(DeviceFault) as caught:
        gpu.launch("saxpy", (1024,), (256,), [y, x, np.float32(1), 1024])
    fault = caught.value
    kernel = gpu.module.kernels["saxpy"]
    entry = kernel.descriptor_address + kernel.descriptor.kernel_code_entry_byte_offset
    assert fault.address == x + 4000
    assert str(fault) == (
        "memory access fault: 0 bytes past the end of `x`, 4000 bytes\n"
        "  kernel: saxpy\n"
        "  instruction: global_load_dword v4, v[0:1], off\n"
        f"  pc: {entry + 0x58:#x} (entry +0x58)\n"
        "  workgroup: (3, 0, 0), wave 3, lane 40\n"
        f"  address: {x + 4000:#x}"
    )


def test_the_device_works_after_a_fault():
    gpu = VirtualGpu("clang/k_cl.gfx942.hsaco")
    x = gpu.upload(np.ones(10, np.float32), "x")
    with pytest.raises(DeviceFault):
        gpu.launch("saxpy", (64,), (64,), [x, x, np.float32(1), 64])
    gpu.launch("saxpy", (64,), (64,), [x, x, np.float32(1), 10])
    assert gpu.read(x, 10, np.float32).tolist() == [2.0] * 10


UNKNOWN = assembled(
    """
  s_nop 0
  v_mov_b32 v1, 0
  .long 0xbf7f0000
""",
    "000080bf8002027e00007fbf",
)


def test_bytes_that_are_not_an_instruction_are_a_fault_when_they_are_reached():
    with pytest.raises(DeviceFault) as caught:
        run_program(UNKNOWN)
    assert caught.value.kind is FaultKind.ILLEGAL_INSTRUCTION
    assert caught.value.hip_code == 719
    assert caught.value.offset == 8
    assert "0xbf7f0000" in caught.value.description


UNIMPLEMENTED = assembled(
    """
  s_mov_b64 exec, 12
  v_screen_partition_4se_b32 v0, v2
  s_endpgm
""",
    "8c01febe026f007e000081bf",
)


def test_an_instruction_without_meaning_is_named_and_never_skipped():
    with pytest.raises(DeviceFault) as caught:
        run_program(UNIMPLEMENTED, groups=2)
    fault = caught.value
    assert fault.description == "v_screen_partition_4se_b32 is not implemented"
    assert fault.instruction == "v_screen_partition_4se_b32 v0, v2"
    assert (fault.workgroup, fault.wave, fault.lane, fault.offset) == ((0, 0, 0), 0, 2, 4)


DENORMALS = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32 v2, 0
  v_mov_b32 v1, 0x00400000
  v_add_f32 v4, v1, v1
  v_mul_f32 v5, 0.5, v1
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0
  v_add_f32 v6, v1, v1
  v_mov_b32 v1, 0x00800000
  v_mul_f32 v7, -0.5, v1
  v_mul_f32 v8, 2.0, v1
  s_getreg_b32 s10, hwreg(HW_REG_MODE, 0, 10)
  v_mov_b32 v9, s10
  global_store_dwordx4 v2, v[4:7], s[8:9]
  global_store_dwordx2 v2, v[8:9], s[8:9] offset:16
  s_endpgm
""",
    "000206c0000000008002047eff02027e0000400001030802f0020a0a010900ba0000000001030c02ff02027e00008000"
    "f1020e0af402100a01488ab80a02127e00807cdc02040800108074dc02080800000081bf",
)


def test_denormals_are_kept_or_flushed_as_the_mode_says():
    out = run_program(DENORMALS, group_size=1)
    assert [hex(word) for word in out[:5].tolist()] == ["0x800000", "0x200000", "0x0", "0x80000000", "0x1000000"]
    assert out[5] == 0x3C0, "round nearest, f32 flushed, f16/f64 kept, dx10_clamp and ieee"


TRAP = assembled(
    """
  s_trap 2
""",
    "020092bf",
)


def test_a_trap_is_a_launch_failure():
    with pytest.raises(DeviceFault) as caught:
        run_program(TRAP)
    assert caught.value.hip_code == 719
    assert caught.value.description == "the kernel executed s_trap"


NULL = assembled(
    """
  s_mov_b64 s[8:9], 16
  s_load_dword s2, s[8:9], 0x0
  s_endpgm
""",
    "900188be840002c000000000000081bf",
)


def test_a_scalar_load_through_a_null_pointer_is_a_memory_fault():
    with pytest.raises(DeviceFault) as caught:
        run_program(NULL)
    assert (caught.value.hip_code, caught.value.address) == (700, 16)
    assert caught.value.description == "16 bytes after the null pointer"


def test_kernel_arguments_outside_live_memory_are_a_fault():
    gpu = VirtualGpu("clang/k_cl.gfx942.hsaco")
    x = gpu.upload(np.ones(10, np.float32), "x")
    gpu.memory.free(x)
    with pytest.raises(DeviceFault) as caught:
        gpu.launch("saxpy", (64,), (64,), [x, x, np.float32(1), 10])
    assert caught.value.description == "0 bytes into `x`, 40 bytes, which was freed"


def test_a_grid_that_would_run_for_days_is_a_fault_and_no_error_of_python():
    with pytest.raises(DeviceFault) as caught:
        run_program(NULL, groups=1 << 50)
    assert caught.value.report() == (
        "launch failure: 1125899906842624 workgroups are more than a virtual GPU runs in a day\n  kernel: tried"
    )
