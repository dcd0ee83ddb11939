"""A kernel is bounded in time, wherever it is, and in the memory of the host that it takes."""

from __future__ import annotations

import itertools
import time
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from support.assembled import assembled, kernel_of, run_program

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.virtual import dispatch
from hipgraph_cb.virtual.dispatch import MOST_CHUNKS, ExecutionSettings
from hipgraph_cb.virtual.faults import DeviceFault, FaultKind
from hipgraph_cb.virtual.launch import MAX_SCRATCH, Launch
from hipgraph_cb.virtual.memory import Memory
from hipgraph_cb.virtual.watchdog import Watchdog

MOVE, NOTHING, END = "8002027e", "000080bf", "000081bf"
STRAIGHT = assembled("20000 times v_mov_b32 v1, 0", MOVE * 20_000 + END)
IDLE = assembled("20000 times s_nop 0", NOTHING * 20_000 + END)


def stopped_after(polls: int):
    counter = itertools.count(1)
    return lambda: next(counter) > polls


@pytest.mark.parametrize(("program", "per_poll"), [(STRAIGHT, 256), (IDLE, 8192)])
def test_straight_code_can_be_stopped_after_some_hundred_instructions(program, per_poll):
    with pytest.raises(DeviceFault) as caught:
        run_program(program, interrupted=stopped_after(2))
    assert caught.value.kind is FaultKind.TIMEOUT
    assert caught.value.offset <= 4 * 2 * per_poll


@pytest.mark.parametrize("seed", [None, 1])
def test_the_widest_grid_can_be_stopped_at_once_and_takes_no_list_of_its_workgroups(seed):
    tracemalloc.start()
    with pytest.raises(DeviceFault) as caught:
        settings = ExecutionSettings(chunk_lanes=64, seed=seed)
        run_program(IDLE, groups=MOST_CHUNKS, settings=settings, interrupted=stopped_after(2))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.kind is FaultKind.TIMEOUT
    assert peak < 4 << 20


EACH_COUNTS = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32 v1, 1
  s_lshl_b32 s5, s2, 2
  v_mov_b32 v2, s5
  s_waitcnt lgkmcnt(0)
  global_atomic_add v2, v1, s[8:9]
  s_endpgm
""",
    "000206c0000000008102027e0282058e0502047e7fc08cbf008008dd02010800000081bf",
)


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_every_workgroup_runs_once_however_many_chunks_are_shuffled_together(monkeypatch, seed):
    monkeypatch.setattr(dispatch, "SHUFFLED", 8)
    settings = ExecutionSettings(chunk_lanes=128, seed=seed)
    out = run_program(EACH_COUNTS, groups=51, settings=settings)
    assert np.array_equal(out, np.where(np.arange(1024) < 51, 64, 0))


def test_the_watchdog_counts_the_time_of_its_thread_and_not_of_the_machine(monkeypatch):
    now = SimpleNamespace(thread=5.0)
    monkeypatch.setattr(time, "thread_time", lambda: now.thread)
    monkeypatch.setattr(time, "monotonic", lambda: pytest.fail("the machine's clock was read"))
    watchdog = Watchdog(1.0, None)
    now.thread = 5.9
    assert not watchdog.must_stop()
    now.thread = 6.1
    assert watchdog.must_stop()
    assert watchdog.reason == ("stopped by the watchdog after 1 s (HIPGRAPH_CB_VIRTUAL_WATCHDOG changes or lifts it)")
    assert not Watchdog(0, None).must_stop()


STORE_PRIVATE = assembled("scratch_store_dword off, v0, off offset:8; s_endpgm", "084070dc00007f00" + END)


def test_a_chunk_has_fewer_workgroups_where_they_want_much_scratch(monkeypatch):
    monkeypatch.setattr(dispatch, "CHUNK_SCRATCH", 1 << 20)
    tracemalloc.start()
    run_program(STORE_PRIVATE, groups=64, private_segment_fixed_size=4096)  # 16 MiB in all
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 << 20


def test_more_scratch_than_the_hardware_can_address_is_refused():
    memory = Memory(1 << 20)
    kernel = kernel_of(memory, STORE_PRIVATE, scratch=MAX_SCRATCH + 4)
    with pytest.raises(InvalidArgumentError) as caught:
        Launch(kernel, (64, 1, 1), (64, 1, 1), 0)
    assert str(caught.value) == (
        "the kernel wants more scratch than there is\n"
        "  found: 131060 bytes a work-item\n"
        "  allowed: at most 131056 bytes"
    )


WAITS = assembled("wait: s_branch wait", "ffff82bf" + END)


def test_workgroups_that_wait_for_each_other_hold_a_bounded_amount_of_memory(monkeypatch):
    monkeypatch.setattr(dispatch, "MOST_RESIDENT", 1 << 20)
    with pytest.raises(DeviceFault) as caught:
        settings = ExecutionSettings(chunk_lanes=64)
        run_program(WAITS, groups=1000, lds=1024, settings=settings, private_segment_fixed_size=1984)
    # A work-item of this kernel has eight registers of 4 bytes, a workgroup 64 work-items.
    each = 64 * (8 * 4 + 1984) + 1024
    most = (1 << 20) // each
    assert caught.value.report() == (
        f"launch failure: {most + 1} workgroups wait for others with {(most + 1) * each} bytes of registers, LDS and "
        "scratch; a virtual GPU has 1048576\n  kernel: tried"
    )
