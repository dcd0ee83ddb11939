"""What a loaded code object says about itself, and how it refuses what it has not."""

import pytest

from hipgraph_cb import samples
from hipgraph_cb.code_object.kernel_args import ParameterKind
from hipgraph_cb.errors import HipGraphError, NotFoundError, OutOfRangeError

EXPORTS = {
    "absolute": 2,
    "constants": 5,
    "count_up": 1,
    "negate": 2,
    "nothing": 0,
    "saxpby": 5,
    "scale_and_offset": 4,
    "sum": 3,
    "twice": 2,
    "workgroup_ids": 1,
}
"""Name -> number of parameters, as in conformance.cl."""


def test_the_exports_are_the_kernels_of_the_source(kernels):
    assert {export.name: len(export.parameters) for export in kernels.verified.exports.values()} == EXPORTS


def test_an_export_tells_its_bindings_and_constants(kernels):
    export = kernels["scale_and_offset"]
    kinds = [parameter.kind for parameter in export.parameters]
    assert kinds == [ParameterKind.POINTER] * 2 + [ParameterKind.VALUE] * 2
    assert [parameter.size for parameter in export.parameters] == [8, 8, 4, 4]
    assert export.workgroup_size == (4, 1, 1)


@pytest.mark.parametrize("name", ["", "scale", "Scale_and_offset", "counter"])
def test_an_unknown_export_is_not_found(kernels, name):
    with pytest.raises(NotFoundError):
        kernels[name]


def test_an_unknown_global_is_not_found(kernels):
    with pytest.raises(NotFoundError):
        kernels.global_("export0")


@pytest.mark.parametrize("data", [b"FOO?", b"FOO?" * 64, b""])
def test_an_unknown_format_is_refused(device, data):
    with pytest.raises(HipGraphError):
        device.load(data)


def test_a_device_says_which_formats_it_takes(device):
    processor = device.target.processor
    assert device.supports(processor)
    assert device.supports(samples.path("saxpy", device.target)).isa in device.isas
    assert not device.supports("gfx803")
    assert device.supports("gfx803").reason == f"gfx803 (processor differs) does not run on {device.target}"


def test_a_kernel_is_found_by_its_ordinal_too(device, conformance_kernels):
    kernels = conformance_kernels(device)
    assert [kernels[ordinal] for ordinal in range(len(kernels))] == [kernels[name] for name in kernels]
    for wrong in (len(kernels), -1):
        with pytest.raises(OutOfRangeError) as caught:
            kernels[wrong]
        assert str(caught.value) == (
            "executable[...]: no kernel has this ordinal\n"
            f"  where: {kernels.describe()}\n"
            f"  found: {wrong}\n"
            f"  allowed: 0 to {len(kernels) - 1}"
        )
