"""What the target of a virtual GPU decides: a feature that is not stated is as the device is sold."""

from __future__ import annotations

import numpy as np
import pytest
from support.assembled import assembled, kernel_of

from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.virtual.dispatch import ExecutionSettings, execute
from hipgraph_cb.virtual.isa.targets.families import target_of
from hipgraph_cb.virtual.launch import Launch
from hipgraph_cb.virtual.machine import Machine
from hipgraph_cb.virtual.memory import Memory
from hipgraph_cb.virtual.models import MODELS
from hipgraph_cb.virtual.settings import Settings

UPPER_HALF = assembled(
    """
    s_load_dwordx2 s[8:9], s[0:1], 0x0
    v_mov_b32 v1, 0
    v_mov_b32 v2, 0x12345678
    s_waitcnt lgkmcnt(0)
    global_load_short_d16_hi v2, v1, s[8:9] offset:64
    s_waitcnt vmcnt(0)
    global_store_dword v1, v2, s[8:9]
    s_endpgm
    """,
    "000206c0000000008002027eff02047e785634127fc08cbf408094dc01000802700f8cbf008070dc01020800000081bf",
)


def test_every_virtual_gpu_executes_its_code():
    assert [name for name in MODELS if (target := target_of(name)) is None or not target.executes] == []


@pytest.mark.parametrize("target", ["gfx90a", "gfx950:xnack-", "gfx1030"])
def test_a_device_that_could_not_execute_its_code_is_refused(target):
    with pytest.raises(InvalidArgumentError) as raised:
        Machine([target], Settings(memory=1 << 20))
    assert str(raised.value) == (
        f"no virtual GPU executes code for {target.partition(':')[0]}\n"
        f"  found: {target!r}\n"
        "  allowed: gfx942, gfx1100, gfx1101, gfx1200, gfx1201"
    )


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("gfx942", "gfx942:sramecc+:xnack-"),
        ("gfx942:sramecc-", "gfx942:sramecc-:xnack-"),
        ("gfx942:xnack+", "gfx942:sramecc+:xnack+"),
        ("gfx1100", "gfx1100"),
    ],
)
def test_a_device_has_every_feature_on_or_off(asked, given):
    machine = Machine([asked], Settings(memory=1 << 20))
    try:
        assert str(machine.gpus[0].target) == given
    finally:
        machine.close()


def test_code_at_one_address_is_executed_as_each_target_says():
    memory = Memory(1 << 20)
    kernel = kernel_of(memory, UPPER_HALF)
    out, kernarg = memory.allocate(128), memory.allocate(8)
    memory.bytes(kernarg, 8).view(np.uint64)[0] = out
    words = memory.bytes(out, 128).view(np.uint32)
    for target, expected in (("gfx942:sramecc+", 0xBEEF0000), ("gfx942:sramecc-", 0xBEEF5678)) * 2:
        words[:] = 0xBEEF
        settings = ExecutionSettings(target=TargetId.parse(target))
        execute(Launch(kernel, (1, 1, 1), (1, 1, 1), kernarg), memory, settings=settings)
        assert words[0] == expected
