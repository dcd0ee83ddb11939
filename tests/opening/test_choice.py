"""Which devices a process sees is decided from the variable and from the kernel driver, without loading HIP."""

from pathlib import Path

import pytest

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.opening import DeviceChoice, choose_devices


def make_topology(folder: Path, *simd_counts: int) -> Path:
    for number, count in enumerate(simd_counts):
        node = folder / "nodes" / str(number)
        node.mkdir(parents=True)
        node.joinpath("properties").write_text(f"cpu_cores_count 0\nsimd_count {count}\nlds_size_in_kb 64\n")
    return folder / "nodes"


@pytest.fixture
def usable_kfd(tmp_path: Path) -> Path:
    path = tmp_path / "kfd"
    path.touch()
    return path


def test_a_kfd_node_with_simds_is_a_real_gpu(tmp_path: Path, usable_kfd: Path) -> None:
    topology = make_topology(tmp_path, 0, 304)
    choice = choose_devices(None, usable_kfd, topology)
    assert choice == DeviceChoice((), f"{usable_kfd} is usable and {topology} lists a GPU")
    assert not choice.is_virtual


def test_nodes_without_simds_are_processors_only(tmp_path: Path, usable_kfd: Path) -> None:
    topology = make_topology(tmp_path, 0, 0)
    assert choose_devices(None, usable_kfd, topology) == DeviceChoice(
        ("gfx942",), f"{topology} lists no node with SIMDs"
    )


def test_without_the_kernel_driver_the_device_is_virtual(tmp_path: Path) -> None:
    missing = tmp_path / "kfd"
    assert choose_devices(None, missing, make_topology(tmp_path, 304)) == DeviceChoice(
        ("gfx942",), f"{missing} does not exist"
    )


def test_the_variable_names_exactly_the_virtual_gpus_even_beside_a_real_one(tmp_path: Path, usable_kfd: Path) -> None:
    choice = choose_devices("gfx942, gfx1100", usable_kfd, make_topology(tmp_path, 304))
    assert choice == DeviceChoice(("gfx942", "gfx1100"), "HIPGRAPH_CB_VIRTUAL=gfx942, gfx1100")


@pytest.mark.parametrize("value", ["", "gfx942,", ",", " "])
def test_a_variable_that_names_no_target_is_refused(value: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        choose_devices(value, tmp_path / "kfd", tmp_path)
    assert str(raised.value) == (
        "HIPGRAPH_CB_VIRTUAL names no target\n"
        f"  found: {value!r}\n"
        "  allowed: target names separated by commas, such as gfx942 or gfx942*4, up to 64\n"
        "  next: unset HIPGRAPH_CB_VIRTUAL to use a real GPU where there is one"
    )


@pytest.mark.parametrize(
    ("value", "targets"),
    [
        ("gfx942*4", ("gfx942",) * 4),
        ("gfx942 * 2, gfx1100", ("gfx942", "gfx942", "gfx1100")),
        ("gfx942:xnack+*2", ("gfx942:xnack+",) * 2),
        ("gfx942*64", ("gfx942",) * 64),
        ("gfx942*1,gfx942*1", ("gfx942",) * 2),
    ],
)
def test_a_name_may_be_followed_by_how_many_there_are(value: str, targets: tuple[str, ...], tmp_path: Path) -> None:
    assert choose_devices(value, tmp_path / "kfd", tmp_path).virtual_targets == targets


@pytest.mark.parametrize(
    "value", ["gfx942*0", "gfx942*", "gfx942*-1", "gfx942*x", "gfx942*2*2", "gfx942*65", "gfx942*²"]
)
def test_a_number_of_devices_is_from_1_to_64(value: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        choose_devices(value, tmp_path / "kfd", tmp_path)
    assert raised.value.what == "HIPGRAPH_CB_VIRTUAL cannot be understood"
