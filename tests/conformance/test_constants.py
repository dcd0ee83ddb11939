"""Constants of an executable: written into its variables, or in the place of what it leaves undefined."""

from pathlib import Path

import numpy as np
import pytest
from support.containers import Export, wrapped

from hipgraph_cb import load_recording
from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError

FIXTURES = Path(__file__).parent.parent / "fixtures" / "constants"
OPEN = {"factor": np.uint32(3), "pair": np.array([7, 8], np.uint32)}


@pytest.fixture
def code(device):
    """constants.cl, as bytes."""
    return (FIXTURES / f"constants.{device.target.processor}.hsaco").read_bytes()


@pytest.fixture
def shown(device, zeros):
    """What the kernel `show` finds: factor, pair[0], pair[1], offset, table[0] to table[3], unset."""

    def show(executable):
        out = zeros(36)
        executable["show"](1, None, out)
        device.synchronize()
        return out.to_host(np.uint32).tolist()

    return show


def test_undefined_symbols_have_the_values_that_are_given(device, code, shown):
    assert shown(device.load(code, constants=OPEN)) == [3, 7, 8, 5, 1, 2, 3, 4, 0]


def test_variables_have_the_values_that_are_given_before_the_first_launch(device, code, shown):
    table = np.array([10, 20, 30, 40], np.uint16)
    executable = device.load(code, constants={**OPEN, "offset": 11, "table": table, "unset": -1})
    assert shown(executable) == [3, 7, 8, 11, 10, 20, 30, 40, 2**32 - 1]
    assert executable.constants["table"] == table.tobytes()
    assert executable.global_("unset").to_host(np.int32).tolist() == [-1]


def test_executables_with_other_constants_do_not_disturb_each_other(device, code, shown):
    first, second = (device.load(code, constants={**OPEN, "factor": np.uint32(value)}) for value in (1, 2))
    assert [shown(first)[0], shown(second)[0], shown(first)[0]] == [1, 2, 1]


def test_constants_are_there_as_long_as_a_program_needs_them(device, code, zeros):
    x, y = device.from_host(np.arange(4, dtype=np.uint32)), zeros(16)
    with device.load(code, constants=OPEN) as executable, device.command_buffer() as cb:
        cb.dispatch(executable["scale"], 1, args=[x, y])
    cb.replay()
    assert y.to_host(np.uint32).tolist() == [5, 8, 11, 14]


def test_modules_of_a_wrapper_share_the_constants(device, code, shown):
    exports = [Export("show", (1, 1, 1), 0, 1, module=1), Export("scale", (4, 1, 1), 0, 2)]
    executable = device.load(wrapped(b"HIP1", exports, [code, code]), constants={**OPEN, "factor": np.uint32(9)})
    assert shown(executable)[:3] == [9, 7, 8]


def test_a_capture_replays_with_its_constants(device, code, tmp_path):
    executable = device.load(code, "constants", constants={**OPEN, "offset": 100})
    x, y = device.from_host(np.arange(4, dtype=np.uint32), "x"), device.allocate(16, "y")
    with device.command_buffer() as cb:
        cb.dispatch(executable["scale"], 1, args=[x, y])
    cb.recording.save(tmp_path / "step.hgcb", contents={"x": x.to_host()})
    with load_recording(tmp_path / "step.hgcb", device) as program:
        program.replay()
        device.synchronize()
        assert program.recording == cb.recording
        assert program.recording.resources["y"].to_host(np.uint32).tolist() == [100, 103, 106, 109]
        assert program.recording.resources["constants"].constants == executable.constants


def test_a_recording_takes_the_same_code_with_the_same_constants_only(device, code, zeros):
    first, second = (device.load(code, constants={**OPEN, "offset": value}) for value in (1, 2))
    with device.command_buffer() as cb:
        cb.dispatch(first["scale"], 1, args=[zeros(16), zeros(16)])
    (id,) = cb.recording.resources.executables
    device.program(cb.recording, resources={id: device.load(code, constants=first.constants)}).close()
    with pytest.raises(InvalidArgumentError) as caught:
        device.program(cb.recording, resources={id: second})
    assert "is other code" in str(caught.value)


def test_a_name_that_is_no_variable_is_refused_with_the_list_of_those_that_are(device, code):
    with pytest.raises(NotFoundError) as caught:
        device.load(code, constants={**OPEN, "ofset": 1})
    assert str(caught.value) == (
        "load: the code object has no such constant\n"
        "  found: 'ofset'\n"
        "  allowed: __oclc_ABI_version, factor, offset, pair, table, unset\n"
        "  next: did you mean 'offset' or 'unset'?"
    )


@pytest.mark.parametrize("constants", [None, {}, {"pair": np.array([7, 8], np.uint32)}])
def test_an_undefined_symbol_without_a_value_is_refused(device, code, constants):
    with pytest.raises(FailedPreconditionError) as caught:
        device.load(code, constants=constants)
    assert str(caught.value) == (
        "load: the code object leaves symbols undefined, and no constants are given for them\n"
        f"  found: {'factor' if constants else 'factor, pair'}\n"
        "  allowed: __oclc_ABI_version, factor, offset, pair, table, unset\n"
        "  next: give each a value, such as constants={'factor': numpy.uint32(1)}, or link the object that defines it"
    )


@pytest.mark.parametrize(
    ("name", "value", "found", "allowed"),
    [
        ("table", b"123", "bytes of 3 bytes", "exactly 8 bytes"),
        ("offset", 1 << 32, "the number 4294967296", "-2147483648 to 4294967295"),
        ("factor", 3, "int 3", "bytes or a numpy value: the symbol is undefined, so its size is that of the value"),
        (
            "factor",
            b"",
            "bytes b''",
            "bytes or a numpy value: the symbol is undefined, so its size is that of the value",
        ),
    ],
)
def test_a_value_of_another_size_is_refused(device, code, name, value, found, allowed):
    with pytest.raises(InvalidArgumentError) as caught:
        device.load(code, constants={**OPEN, name: value})
    assert str(caught.value) == (
        f"load: the value of constant {name!r} does not fit\n  found: {found}\n  allowed: {allowed}"
    )


@pytest.mark.parametrize(("constants", "found"), [([1], "list"), ({1: 2}, "a name that is no str")])
def test_constants_are_a_mapping_of_names(device, code, constants, found):
    with pytest.raises(InvalidArgumentError) as caught:
        device.load(code, constants=constants)
    assert str(caught.value) == f"load: constants are no mapping\n  found: {found}\n  allowed: a dict of values by name"
