"""Faults of code with debug information name the source line, and where that was inlined, on both backends."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from hipgraph_cb import open_device
from hipgraph_cb.code_object.debug_info.source_text import LONGEST_LINE, source_line
from hipgraph_cb.errors import HipError, HsaError, InvalidArgumentError

SHAPES = Path(__file__).parents[1] / "fixtures" / "debug_info" / "shapes.dwarf5.gfx942.hsaco"


@pytest.fixture(scope="module", params=["hip", "hsa"])
def device(request):
    with open_device(request.param) as device:
        yield device


@pytest.fixture(scope="module")
def kernels(device):
    return device.load(SHAPES)


def fault(device, kernels, x_count: int) -> str:
    """The message of a launch over 64 elements, of which `x` has fewer."""
    x, y = device.from_host(np.ones(x_count, np.float32)), device.from_host(np.ones(64, np.float32))
    with device.command_buffer(label="step") as cb:
        cb.dispatch(kernels["scale"], 1, 64, args=[y, x, 2, 64])
    cb.replay()
    with pytest.raises((HipError, HsaError)) as caught:
        device.synchronize()
    return str(caught.value)


def test_a_fault_names_the_source_line_and_where_it_was_inlined(device, kernels):
    lines = fault(device, kernels, 32).splitlines()
    start = lines.index("  instruction: global_load_dword v2, v[2:3], off")
    assert lines[start + 1 : start + 4] == [
        "  source: /src/src/shapes.hip:45 in at",
        "  inlined at: /src/src/shapes.hip:49 in twice",
        "  inlined at: /src/src/shapes.hip:55 in scale",
    ]
    assert re.fullmatch(r"  pc: 0x[0-9a-f]+ \(entry \+0x40\)", lines[start + 4])


def test_a_whole_number_for_a_float_parameter_is_that_number_on_the_device(device, kernels):
    x, y = device.from_host(np.full(64, 3, np.float32)), device.from_host(np.ones(64, np.float32))
    with device.command_buffer() as cb:
        cb.dispatch(kernels["scale"], 1, 64, args=[y, x, 2, 64])
    cb.replay()
    assert y.to_host(np.float32).tolist() == [2 * (2 * 3) + 1] * 64


@pytest.mark.parametrize(
    "pair", [(2.5, 7, (-4, 5.5), (1, 2, 3)), {"scale": 2.5, "n": 7, "inner": {"a": -4, "b": 5.5}, "w": [1, 2, 3]}]
)
def test_a_structure_arrives_with_its_fields(device, kernels, pair):
    out = device.from_host(np.zeros(5, np.float32))
    with device.command_buffer() as cb:
        cb.dispatch(kernels["store_pair"], 1, 1, args=[out, pair])
    cb.replay()
    assert out.to_host(np.float32).tolist() == [2.5, 7, -4, 5.5, 3]


def test_an_array_of_another_element_type_is_refused_when_it_is_recorded(device, kernels):
    x, y = device.zeros(64, "float64"), device.zeros(64, "float32")
    with device.command_buffer() as cb, pytest.raises(InvalidArgumentError) as caught:
        cb.dispatch(kernels["scale"], 1, 64, args=[y, x, 2, 64])
    assert caught.value.what == "scale: argument 1 (x: const float*) does not fit"


def test_the_text_of_a_line_is_shown_without_its_margin_and_not_longer_than_a_line(tmp_path):
    file = tmp_path / "kernel.hip"
    file.write_text(f"first\n\t y[i] = 1;  \n{'x' * 500}\n\x1b[31mred\n")
    assert source_line(str(file), 2) == "y[i] = 1;"
    assert source_line(str(file), 3) == "x" * LONGEST_LINE + "..."
    assert source_line(str(file), 4) == "\\x1b[31mred"
    assert [source_line(str(file), line) for line in (0, 5, 6)] == [None, None, None]


def test_a_source_that_is_no_file_has_no_text(tmp_path):
    for path in (str(tmp_path), str(tmp_path / "absent"), "/dev/zero", "a\0b"):
        assert source_line(path, 1) is None
