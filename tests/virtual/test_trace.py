"""HIPGRAPH_CB_TRACE: a line of JSON a dispatch."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.assembled import assembled, run_program
from support.child import ROOT, run
from support.virtual_gpu import VirtualGpu

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.virtual.dispatch import ExecutionSettings
from hipgraph_cb.virtual.faults import DeviceFault

# Two waves take the branch, one falls through; half of its lanes store.
PROGRAM = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshrrev_b32 v1, 6, v0
  v_readfirstlane_b32 s6, v1
  s_cmp_eq_u32 s6, 0
  s_cbranch_scc0 done
  s_nop 0
  v_lshlrev_b32 v2, 2, v0
  s_mov_b64 exec, 0xf
  global_store_dword v2, v0, s[8:9]
done:
  s_endpgm
""",
    "000206c0000000008600022001050c7e068006bf050084bf000080bf820004248f01febe008070dc02000800000081bf",
)


def lines_of(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_dispatch_appends_a_line_with_its_shape_and_its_instructions(tmp_path):
    path = tmp_path / "trace.jsonl"
    for _ in range(2):
        run_program(PROGRAM, groups=2, group_size=192, settings=ExecutionSettings(trace=str(path)))
    first, second = lines_of(path)
    assert {key: first[key] for key in ("kernel", "grid", "workgroup", "waves", "chunks", "fault")} == {
        "kernel": "tried",
        "grid": [384, 1, 1],
        "workgroup": [192, 1, 1],
        "waves": 6,
        "chunks": 1,
        "fault": None,
    }
    assert {
        name: tuple(figures[key] for key in ("runs", "waves", "lanes")) for name, figures in first["opcodes"].items()
    } == {
        "s_load_dwordx2": (1, 6, 384),
        "v_lshrrev_b32": (1, 6, 384),
        "v_readfirstlane_b32": (1, 6, 384),
        "s_cmp_eq_u32": (1, 6, 384),
        "s_cbranch_scc0": (1, 6, 384),
        "v_lshlrev_b32": (1, 2, 128),
        "s_mov_b64": (1, 2, 128),
        "global_store_dword": (1, 2, 8),
        "s_endpgm": (1, 6, 264),
    }
    assert second["opcodes"].keys() == first["opcodes"].keys()


def test_the_times_of_the_opcodes_add_up_to_no_more_than_the_dispatch(tmp_path):
    path = tmp_path / "trace.jsonl"
    run_program(PROGRAM, groups=50, group_size=192, settings=ExecutionSettings(trace=str(path), chunk_lanes=256))
    (line,) = lines_of(path)
    times = [figures["seconds"] for figures in line["opcodes"].values()]
    assert line["chunks"] == 50
    assert 0 < sum(times) <= line["seconds"]
    assert times == sorted(times, reverse=True)
    assert line["opcodes"]["s_endpgm"]["seconds"] == 0


FAULTY = assembled(
    """
  v_mov_b32 v2, 0
  v_mov_b32 v3, 0
  global_load_dword v4, v[2:3], off
  s_endpgm
""",
    "8002047e8002067e008050dc02007f04000081bf",
)


def test_a_dispatch_that_faults_has_its_line_with_the_fault(tmp_path):
    path = tmp_path / "trace.jsonl"
    with pytest.raises(DeviceFault) as caught:
        run_program(FAULTY, settings=ExecutionSettings(trace=str(path)))
    (line,) = lines_of(path)
    assert line["fault"] == str(caught.value)
    assert line["opcodes"]["global_load_dword"]["runs"] == 1


OUTSIDE = assembled(
    """
  v_lshlrev_b32 v1, 2, v0
  ds_write_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  s_endpgm
""",
    "8200022400001ad8010000007fc08cbf000081bf",
)


def test_a_dispatch_reports_what_it_accessed_outside_lds(tmp_path):
    path = tmp_path / "trace.jsonl"
    run_program(OUTSIDE, groups=3, lds=128, settings=ExecutionSettings(trace=str(path), chunk_lanes=64))
    run_program(OUTSIDE, lds=256, settings=ExecutionSettings(trace=str(path)))
    outside, inside = lines_of(path)
    assert outside["outside_lds"]["lanes"] == 3 * 32
    assert "4 bytes at LDS address 0x80, outside the workgroup's 128 bytes of LDS" in outside["outside_lds"]["first"]
    assert inside["outside_lds"] == {"lanes": 0, "first": None}


def test_a_traced_kernel_computes_the_same(tmp_path):
    gpu = VirtualGpu("clang/k_cl.gfx942.hsaco")
    x = np.arange(1000, dtype=np.float32)
    out, source = gpu.upload(np.ones_like(x)), gpu.upload(x)
    settings = ExecutionSettings(trace=str(tmp_path / "trace.jsonl"))
    gpu.launch("saxpy", (1024,), (256,), [out, source, 2.0, 1000], settings=settings)
    assert np.array_equal(gpu.read(out, 1000, np.float32), 2 * x + 1)


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    path = str(tmp_path / "absent" / "trace.jsonl")
    with pytest.raises(InvalidArgumentError) as caught:
        run_program(PROGRAM, settings=ExecutionSettings(trace=path))
    assert str(caught.value) == (
        "HIPGRAPH_CB_TRACE names a file that cannot be written\n"
        f"  where: {path}\n"
        f"  found: [Errno 2] No such file or directory: '{path}'"
    )


CHILD = """
import numpy as np
from hipgraph_cb import open_device
with open_device() as device:
    executable = device.load({code!r})
    y, x = device.from_host(np.ones(64, np.float32)), device.from_host(np.ones(64, np.float32))
    with device.command_buffer() as cb:
        cb.dispatch(executable["saxpy"], 1, 64, args=[y, x, 2.0, 64])
    cb.replay()
    device.synchronize()
"""


def test_the_variable_traces_every_dispatch_of_the_process(tmp_path):
    path = tmp_path / "trace.jsonl"
    code = str(ROOT / "tests" / "fixtures" / "corpus" / "clang" / "k_cl.gfx942.hsaco")
    finished = run(CHILD.format(code=code), HIPGRAPH_CB_VIRTUAL="gfx942", HIPGRAPH_CB_TRACE=str(path))
    assert finished.returncode == 0, finished.stderr
    (line,) = lines_of(path)
    assert (line["kernel"], line["grid"]) == ("saxpy", [64, 1, 1])
    assert line["opcodes"]["v_fmac_f32"]["lanes"] == 64


def test_without_the_variable_nothing_of_it_is_loaded():
    code = CHILD.format(code=str(ROOT / "tests" / "fixtures" / "corpus" / "clang" / "k_cl.gfx942.hsaco"))
    finished = run(code + "import sys; print('hipgraph_cb.virtual.trace' in sys.modules)", HIPGRAPH_CB_VIRTUAL="gfx942")
    assert finished.stdout.strip() == "False"
