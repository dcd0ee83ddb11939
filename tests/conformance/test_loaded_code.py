"""What a loaded executable knows of its code, on every backend."""

from __future__ import annotations

import pytest
from support.tools import run_tool

from hipgraph_cb.errors import FailedPreconditionError, UnimplementedError


def symbol_value(data, name, tmp_path):
    """The value of a symbol, as llvm-readelf prints it."""
    file = tmp_path / "code.hsaco"
    file.write_bytes(data)
    listing = run_tool("llvm-readelf-19", "--dyn-syms", "--wide", str(file))
    (row,) = (line.split() for line in listing.splitlines() if line.split()[-1:] == [name])
    return int(row[1], 16)


def test_the_load_delta_leads_from_the_file_to_the_device(device, kernels, tmp_path):
    if device.backend == "hip":
        with pytest.raises(UnimplementedError) as raised:
            _ = kernels.code_ranges
        assert str(raised.value) == (
            "code_ranges: the hip backend has no call that says where code is loaded\n"
            f"  where: {kernels.describe()}\n"
            "  next: open the device with backend='hsa'"
        )
        return
    (code,) = kernels.code_ranges
    entry = code.delta + symbol_value(kernels.verified.data, "twice.kd", tmp_path)
    assert entry == kernels["twice"].dispatch_descriptor().kernel_object
    assert code.address <= entry < code.address + code.size


def test_a_dispatch_descriptor_states_what_every_launch_does(device, kernels):
    most = 2**32 - 1
    found = kernels["scale_and_offset"].dispatch_descriptor()
    assert (found.kernel, found.setup, found.workgroup_size) == ("scale_and_offset", 3, (4, 1, 1))
    assert (found.private_segment_size, found.group_segment_size) == (0, 0)
    assert (found.kernarg_size, found.kernarg_alignment) == (24, 8)
    assert (found.binding_count, found.constant_count) == (2, 2)
    assert found.max_workgroup_count == (most // 4, most, most)
    assert found.max_dynamic_lds == most
    assert (found.kernel_object is None) == (device.backend == "hip")


def test_every_executable_has_a_profile_id_of_its_own(device, kernels):
    other = device.load(kernels.verified.data)
    numbers = [kernels.profile_id, other.profile_id]
    other.close()
    numbers.append(device.load(kernels.verified.data).profile_id)
    assert len({*numbers}) == 3
    assert min(numbers) > 0


@pytest.mark.parametrize("ask", [lambda each: each.code_ranges, lambda each: each["twice"].dispatch_descriptor()])
def test_a_closed_executable_knows_nothing(device, kernels, ask):
    executable = device.load(kernels.verified.data)
    twice = executable["twice"]
    executable.close()
    with pytest.raises(FailedPreconditionError, match="is closed"):
        ask(executable)
    with pytest.raises(FailedPreconditionError, match="is closed"):
        twice.dispatch_descriptor()
