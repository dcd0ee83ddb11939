"""`replay(check=...)` stops at the first command whose outputs fail, and names it."""

import numpy as np
import pytest

from hipgraph_cb import Slot
from hipgraph_cb.errors import CheckFailedError, InvalidArgumentError


@pytest.fixture
def chain(device, kernels):
    """b = 2 * a + a, then c = inf * b + a, then d = c; a has a zero, so that c has a NaN."""
    a = device.from_host(np.array([0, 1, 2, 3], np.float32), label="a")
    b, c, d = (device.from_host(np.zeros(4, np.float32), label=name) for name in "bcd")
    with device.command_buffer(label="chain") as cb:
        cb.dispatch(kernels["saxpby"], 1, 64, args=[b, a, a, 2.0, 4], label="good")
        cb.execution_barrier()
        cb.fill_buffer(d, 0, label="beside")
        cb.dispatch(kernels["saxpby"], 1, 64, args=[c, b, a, np.float32(np.inf), 4], label="bad")
        cb.execution_barrier()
        cb.copy_buffer(c, d, label="late")
    return cb, a, b, c, d


def test_nan_is_found_where_it_first_appears_and_nothing_later_runs(chain):
    cb, _a, _b, c, d = chain
    with pytest.raises(CheckFailedError) as raised:
        cb.replay(check="nan")
    error = raised.value
    assert error.where == "command 2 'bad' in 'chain'"
    assert error.found == "NaN in 1 of 4 elements, first in element 0, in arg0: float* = `c`[0:16]"
    assert np.isnan(c.to_host(np.float32)[0])
    assert d.to_host(np.float32).tolist() == [0, 0, 0, 0]


def test_a_replay_without_nan_runs_to_its_end(device, kernels):
    x, y = device.from_host(np.ones(4, np.float32)), device.allocate(16)
    with device.command_buffer() as cb:
        cb.dispatch(kernels["saxpby"], 1, 64, args=[x, x, x, 2.0, 4])
        cb.execution_barrier()
        cb.copy_buffer(x, y)
    cb.replay(check="nan")
    assert y.to_host(np.float32).tolist() == [3, 3, 3, 3]


def test_a_callable_sees_every_output_with_its_type(chain):
    cb = chain[0]
    seen = []
    cb.replay(check=lambda output: seen.append((output.command, output.name, output.place, str(output.data.dtype))))
    assert seen == [
        (0, "arg0: float*", "`b`[0:16]", "float32"),
        (1, "target", "`d`[0:16]", "uint8"),
        (2, "arg0: float*", "`c`[0:16]", "float32"),
        (3, "target", "`d`[0:16]", "uint8"),
    ]


@pytest.mark.parametrize(("verdict", "found"), [(False, "the check says no"), ("too large", "too large")])
def test_a_callable_says_what_is_wrong(chain, verdict, found):
    with pytest.raises(CheckFailedError) as raised:
        chain[0].replay(check=lambda output: output.data.max() < 9 or verdict)
    assert raised.value.where == "command 0 'good' in 'chain'"
    assert raised.value.found == f"{found}, in arg0: float* = `b`[0:16]"


def test_slots_are_read_where_they_are_bound(device, kernels):
    x = device.from_host(np.full(8, np.nan, np.float32))
    with device.command_buffer(binding_capacity=1) as cb:
        cb.dispatch(kernels["saxpby"], 1, 64, args=[Slot(0, 16, 16), Slot(0, 0, 16), Slot(0, 0, 16), 1.0, 4])
    with pytest.raises(CheckFailedError) as raised:
        cb.replay(bindings=[x], check="nan")
    assert "slot 0[16:32]" in raised.value.found


def test_a_check_that_does_not_exist_or_has_nothing_to_look_at_is_refused(device):
    x = device.allocate(16)
    with device.command_buffer() as cb:
        cb.fill_buffer(x, 0)
    for check in ("inf", "nan"):
        with pytest.raises(InvalidArgumentError):
            cb.replay(check=check)
