"""Groups: which devices they have, what members a mask means, and what is loaded where."""

from __future__ import annotations

import numpy as np
import pytest
from support.bundle import bundle_of
from support.devices import OF_ONE_TARGET, VIRTUAL_GPUS

from hipgraph_cb import open_devices
from hipgraph_cb.errors import (
    FailedPreconditionError,
    HipGraphError,
    IncompatibleError,
    InvalidArgumentError,
    NoSuchIndexError,
    NotFoundError,
    OutOfRangeError,
)
from hipgraph_cb.opening import virtual_runtime


def test_a_group_has_every_device_of_the_process_unless_some_are_named(backend):
    with open_devices(backend) as group:
        assert [device.target.processor for device in group] == list(VIRTUAL_GPUS)
        assert [device.ordinal for device in group] == list(range(len(VIRTUAL_GPUS)))
    with open_devices(backend, devices=[2, 0]) as group:
        assert [device.ordinal for device in group] == [2, 0]
        assert group.backend == backend
        assert group.is_virtual


@pytest.mark.parametrize("devices", [[], [0, 0], [1, 2, 1]])
def test_ordinals_are_one_or_more_and_each_is_named_once(devices):
    with pytest.raises(InvalidArgumentError) as raised:
        open_devices(devices=devices)
    assert str(raised.value) == (
        f"open_devices: bad devices\n  found: {devices}\n  allowed: ordinals, one or more, each once"
    )


@pytest.mark.parametrize(("devices", "error"), [([9], NotFoundError), ([-1], InvalidArgumentError), (3, HipGraphError)])
def test_what_is_no_ordinal_is_refused(devices, error):
    with pytest.raises(error):
        open_devices(devices=devices)


def test_a_member_is_found_by_its_number(group):
    assert group[0].ordinal == 0
    assert group[-1] is group[3]
    assert group[1:3] == (group[1], group[2])
    assert [group.number_of(device) for device in group] == [0, 1, 2, 3]
    with pytest.raises(NoSuchIndexError) as raised:
        group[4]
    assert str(raised.value) == "group[...]: no such member\n  found: 4\n  allowed: 0 to 3"


def test_members_of_one_group_reach_each_other_and_nobody_else(backend, group):
    assert all(one.can_access(other) for one in group for other in group)
    with open_devices(backend, devices=[0]) as others:
        assert others[0].can_access(others[0])
        assert not group[1].can_access(others[0])
        assert not others[0].can_access(group[1])


def test_closing_a_group_closes_its_devices(backend):
    with open_devices(backend, devices=OF_ONE_TARGET) as group:
        buffer = group[3].allocate(64)
    assert group.closed
    assert all(device.closed for device in group)
    assert buffer.closed
    with pytest.raises(FailedPreconditionError):
        group.load(b"")


@pytest.mark.parametrize(
    ("devices", "numbers"),
    [
        (None, [0, 1, 2, 3]),
        (0xF, [0, 1, 2, 3]),
        ((1 << 64) - 1, [0, 1, 2, 3]),
        (0b0101, [0, 2]),
        (0xFF8, [3]),
        ([2, 1], [1, 2]),
        ((3,), [3]),
        (np.uint8(1), [0]),
    ],
)
def test_a_mask_or_a_list_says_for_which_members_code_is_loaded(group, code, devices, numbers):
    executable = group.load(code("gfx942"), devices)
    assert executable.mask == sum(1 << number for number in numbers)
    assert executable.devices == tuple(group[number] for number in numbers)
    for number in range(4):
        if number in numbers:
            assert executable.on(number) is executable.on(group[number])
            assert executable.on(number).device is group[number]
            continue
        with pytest.raises(FailedPreconditionError) as raised:
            executable.on(number)
        assert str(raised.value) == (
            f"on: executable `conformance.gfx942.hsaco` is not loaded on member {number} of the group\n"
            f"  found: it is loaded for the mask {executable.mask:#x}: members {', '.join(map(str, numbers))}\n"
            f"  next: group.load(..., devices={sorted([*numbers, number])})"
        )


@pytest.mark.parametrize(
    ("devices", "error", "found"),
    [
        (0, InvalidArgumentError, "mask 0x0"),
        (0x10, InvalidArgumentError, "mask 0x10"),
        ([], InvalidArgumentError, "[]"),
        ([1, 1], InvalidArgumentError, "[1, 1]"),
        ([4], OutOfRangeError, "4"),
        (1 << 64, OutOfRangeError, str(1 << 64)),
        (-1, OutOfRangeError, "-1"),
        (True, InvalidArgumentError, "True (bool)"),
        ("0", InvalidArgumentError, "str"),
    ],
)
def test_what_means_no_member_is_refused(group, code, devices, error, found):
    with pytest.raises(error) as raised:
        group.load(code("gfx942"), devices)
    assert raised.value.found == found


def test_a_member_that_the_group_does_not_have_is_refused(group, code):
    executable = group.load(code("gfx942"))
    with pytest.raises(OutOfRangeError) as raised:
        executable.on(4)
    assert str(raised.value) == "device: no such member of the group\n  found: 4\n  allowed: 0 to 3"
    with open_devices(group.backend, devices=[1]) as other, pytest.raises(InvalidArgumentError) as raised:
        executable.on(other[0])
    assert raised.value.what == "not a device of this group"


def test_code_that_does_not_run_on_every_device_is_refused_before_any_is_touched(backend, code):
    with open_devices(backend, devices=[0, 1, 3]) as group, virtual_runtime(backend).count_calls() as count:
        with pytest.raises(IncompatibleError) as raised:
            group.load(code("gfx942"))
        assert not count
        executable = group.load(code("gfx942"), [0, 2])
        assert executable.mask == 0b101
    assert str(raised.value) == (
        "load: the code does not run on every device that it is loaded for\n"
        "  found: it runs on members 0, 2, and not on member 1\n"
        "  allowed: code for each of the devices\n"
        "  next: build a fat binary with code for each target, or give devices=[0, 2]\n"
        f"  member 0 ({backend} device 0, gfx942:sramecc+:xnack-): runs\n"
        f"  member 1 ({backend} device 1, gfx1100): gfx942 (processor differs) does not run on gfx1100\n"
        f"  member 2 ({backend} device 3, gfx942:sramecc+:xnack-): runs"
    )


def test_code_that_runs_on_no_device_is_refused_with_what_differs_on_each(backend, code):
    with open_devices(backend, devices=[0, 3]) as group, pytest.raises(IncompatibleError) as raised:
        group.load(code("gfx1100"))
    assert str(raised.value) == (
        "load: the code does not run on every device that it is loaded for\n"
        "  found: it runs on none of them, and not on members 0, 1\n"
        "  allowed: code for each of the devices\n"
        "  next: build a fat binary with code for each target\n"
        f"  member 0 ({backend} device 0, gfx942:sramecc+:xnack-): "
        "gfx1100 (processor differs) does not run on gfx942:sramecc+:xnack-\n"
        f"  member 1 ({backend} device 3, gfx942:sramecc+:xnack-): "
        "gfx1100 (processor differs) does not run on gfx942:sramecc+:xnack-"
    )


def test_of_a_fat_binary_each_device_gets_its_own_code_object(backend, code):
    both = bundle_of(gfx1100=code("gfx1100").read_bytes(), gfx942=code("gfx942").read_bytes())
    with open_devices(backend, devices=[0, 1, 3]) as group:
        executable = group.load(both)
        assert [str(each.target.processor) for each in map(executable.on, range(3))] == ["gfx942", "gfx1100", "gfx942"]
        for device in group:
            x = device.from_host(np.arange(4, dtype=np.uint32))
            executable.on(device)["scale_and_offset"](1, 4, x, x, 3, 5)
            assert x.to_host(np.uint32).tolist() == [5, 8, 11, 14]


def test_each_device_has_its_own_global_variables(group, code):
    executable = group.load(code("gfx942"), [1, 3])
    name = next(iter(executable.on(1).verified.globals))
    one, three = executable.global_(name), executable.global_(name, 3)
    assert one.buffer.device is group[1]
    assert three.buffer.device is group[3]
    one.write(np.full(one.length, 1, np.uint8))
    three.write(np.full(three.length, 3, np.uint8))
    assert set(one.to_host()) == {1}
    with pytest.raises(FailedPreconditionError):
        executable.global_(name, 0)


def test_malformed_code_is_refused_as_by_one_device(group):
    with pytest.raises(HipGraphError) as raised:
        group.load(b"\x7fELF")
    with pytest.raises(HipGraphError) as expected:
        group[0].load(b"\x7fELF")
    assert str(raised.value) == str(expected.value)


def test_closing_the_executable_of_a_group_closes_it_on_every_device(group, code):
    executable = group.load(code("gfx942"))
    one = executable.on(2)
    assert repr(executable) == "<executable `conformance.gfx942.hsaco` for the mask 0xf>"
    executable.close()
    assert one.closed
    with pytest.raises(FailedPreconditionError):
        executable.on(2)


def test_synchronize_waits_for_the_work_of_all_devices(group, code):
    executable = group.load(code("gfx942"))
    buffers = [device.from_host(np.zeros(16, np.uint32)) for device in group]
    for number, buffer in enumerate(buffers):
        executable.on(number)["scale_and_offset"](1, 4, buffer, buffer, 1, number)
    group.synchronize()
    assert [buffer.to_host(np.uint32)[0] for buffer in buffers] == [0, 1, 2, 3]
