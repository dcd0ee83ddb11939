"""`open_device` refuses what it cannot give, each with the whole message."""

import pytest
from support.devices import VIRTUAL_GPUS

from hipgraph_cb import VirtualSettings, open_device
from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError


def test_the_device_of_a_machine_without_gpu_is_virtual_and_says_so() -> None:
    with open_device() as device:
        assert device.is_virtual
        assert device.backend == "hip"
        assert str(device.target).startswith("gfx942")


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        open_device("cuda")
    assert str(raised.value) == "open_device: unknown backend\n  found: 'cuda'\n  allowed: 'hip', 'hsa'"


def test_the_same_virtual_gpu_is_there_for_both_backends() -> None:
    with open_device("hip") as hip, open_device("hsa") as hsa:
        assert hsa.backend == "hsa"
        assert hsa.is_virtual
        assert (hsa.target, hsa.limits) == (hip.target, hip.limits)


@pytest.mark.parametrize("ordinal", [-1, True, "0", 1.0])
def test_a_device_that_is_no_ordinal_is_refused(ordinal: object) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        open_device(device=ordinal)  # type: ignore[arg-type]
    assert str(raised.value) == f"open_device: bad device\n  found: {ordinal!r}\n  allowed: an ordinal: 0, 1, ..."


def test_an_ordinal_past_the_virtual_devices_names_those_that_exist() -> None:
    open_device().close()
    with pytest.raises(NotFoundError) as raised:
        open_device(device=len(VIRTUAL_GPUS))
    assert str(raised.value) == (
        "open_device: no such device\n"
        f"  found: device {len(VIRTUAL_GPUS)}\n"
        f"  allowed: 0 to {len(VIRTUAL_GPUS) - 1} (virtual: {', '.join(VIRTUAL_GPUS)})\n"
        "  next: name more targets in HIPGRAPH_CB_VIRTUAL before the process starts"
    )


def test_changing_the_variable_afterwards_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    open_device().close()
    monkeypatch.setenv("HIPGRAPH_CB_VIRTUAL", "gfx1100")
    with pytest.raises(FailedPreconditionError) as raised:
        open_device()
    assert raised.value.what == "open_device: HIPGRAPH_CB_VIRTUAL contradicts the devices this process already runs on"
    assert raised.value.found == "HIPGRAPH_CB_VIRTUAL='gfx1100'"


def test_settings_that_hold_already_may_be_named_again() -> None:
    open_device().close()
    open_device(virtual=VirtualSettings()).close()
    open_device(virtual=VirtualSettings(profile="7.2", memory="16G")).close()


def test_other_settings_than_those_of_the_process_are_refused() -> None:
    open_device().close()
    with pytest.raises(FailedPreconditionError) as raised:
        open_device(virtual=VirtualSettings(profile="6.4", memory="16G", watchdog=1))
    assert str(raised.value) == (
        "open_device: the virtual GPUs of this process run with other settings\n"
        "  found: profile='6.4', watchdog=1\n"
        "  allowed: profile='7.2', watchdog=60.0\n"
        "  next: give the settings to the first open_device of the process, or use another process"
    )
