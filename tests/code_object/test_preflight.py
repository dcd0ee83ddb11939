"""What a kernel needs against what a device has, before anything is launched."""

from __future__ import annotations

import pytest
from support import elf

from hipgraph_cb.code_object.limits import DeviceLimits, limits_of
from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.code_object.verify import inspect, verify
from hipgraph_cb.errors import FailedPreconditionError

SCALE = elf.kernel("scale", [elf.pointer(0)])
LIMITS = DeviceLimits(max_workgroup_size=(256, 64, 32), max_flat_workgroup_size=512, max_lds=4096)


def needing(**keys: object) -> bytes:
    return elf.code_object(elf.kernel("add", [elf.pointer(0)], **keys), SCALE)


@pytest.mark.parametrize(
    ("keys", "found", "allowed"),
    [
        ({"group_segment_fixed_size": 4097}, "4097 bytes of fixed LDS", "at most 4096 bytes of fixed LDS"),
        ({"kernarg_segment_align": 128}, "128 bytes of kernarg alignment", "at most 64 bytes of kernarg alignment"),
        ({"reqd_workgroup_size": [257, 1, 1]}, "257 work-items in x", "at most 256 work-items in x"),
        ({"reqd_workgroup_size": [1, 65, 1]}, "65 work-items in y", "at most 64 work-items in y"),
        ({"reqd_workgroup_size": [1, 1, 33]}, "33 work-items in z", "at most 32 work-items in z"),
        (
            {"reqd_workgroup_size": [256, 3, 1]},
            "768 work-items of a workgroup on the device",
            "at most 512 work-items of a workgroup on the device",
        ),
        (
            {"reqd_workgroup_size": [256, 1, 1], "max_flat_workgroup_size": 128},
            "256 work-items of a workgroup the kernel was compiled for",
            "at most 128 work-items of a workgroup the kernel was compiled for",
        ),
        (
            {"reqd_workgroup_size": [1, 65, 33], "group_segment_fixed_size": 8192, "max_flat_workgroup_size": 4096},
            "8192 bytes of fixed LDS; 65 work-items in y; 33 work-items in z; "
            "2145 work-items of a workgroup on the device",
            "at most 4096 bytes of fixed LDS; at most 64 work-items in y; at most 32 work-items in z; "
            "at most 512 work-items of a workgroup on the device",
        ),
    ],
)
def test_every_need_that_is_not_met_is_named_and_concerns_that_kernel_alone(keys, found, allowed):
    executable = verify(needing(**keys), limits=LIMITS)
    assert list(executable.exports) == ["scale"]
    error = executable.refused["add"]
    assert isinstance(error, FailedPreconditionError)
    assert str(error) == (
        f"the kernel needs more than it can have\n  where: kernel add\n  found: {found}\n  allowed: {allowed}"
    )
    assert "add" in inspect(needing(**keys)).exports


def test_a_kernel_at_the_limits_is_taken():
    data = needing(group_segment_fixed_size=4096, kernarg_segment_align=64, reqd_workgroup_size=[256, 2, 1])
    assert list(verify(data, limits=LIMITS).exports) == ["add", "scale"]


@pytest.mark.parametrize(
    ("target", "lds", "wave"),
    [("gfx90a", 65536, 64), ("gfx942", 65536, 64), ("gfx950", 163840, 64), ("gfx1100", 65536, 32)],
)
def test_without_stated_limits_those_of_the_target_hold(target, lds, wave):
    limits = limits_of(TargetId.parse(target))
    assert (limits.max_lds, limits.wavefront_size) == (lds, wave)
    assert (limits.max_workgroup_size, limits.max_flat_workgroup_size) == ((1024, 1024, 1024), 1024)
    data = elf.code_object(elf.kernel("add", group_segment_fixed_size=65537))
    assert list(verify(data).refused) == ["add"]
