"""The two wheels: what they hold, what their tags say, and that the README's ten lines need nothing else."""

import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NATIVE, PURE = "py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64", "py3-none-any"
AMD_GPU = 224  # EM_AMDGPU: code for a GPU is data to this computer
TEN_LINES = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def build(kind: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    environment = os.environ | {"HIPGRAPH_CB_WHEEL": kind}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    built = {}
    for kind in ("native", "pure"):
        folder = tmp_path_factory.mktemp(kind)
        done = build(kind, folder)
        assert done.returncode == 0, done.stderr
        (built[kind],) = folder.glob("*.whl")
    return built


def machine_code_of_this_computer(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        heads = {name: archive.read(name)[:20] for name in archive.namelist()}
    elf_files = {name: int.from_bytes(head[18:20], "little") for name, head in heads.items() if head[:4] == b"\x7fELF"}
    return [name for name, machine in elf_files.items() if machine != AMD_GPU]


def tags(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/WHEEL")]
        lines = archive.read(name).decode().splitlines()
    return {value for key, _, value in (line.partition(": ") for line in lines) if key == "Tag"}


def test_a_wheel_that_holds_machine_code_of_a_platform_says_so_in_its_tag(wheels: dict[str, Path]) -> None:
    found = {Path(name).name for name in machine_code_of_this_computer(wheels["native"])}
    assert found == {"lane_loops.x86-64.so", "start.x86-64.so"}
    assert wheels["native"].name.endswith(f"-{NATIVE}.whl")
    assert tags(wheels["native"]) == {"py3-none-manylinux_2_17_x86_64", "py3-none-manylinux2014_x86_64"}


def test_the_pure_wheel_holds_none_and_fits_any_platform(wheels: dict[str, Path]) -> None:
    assert machine_code_of_this_computer(wheels["pure"]) == []
    assert wheels["pure"].name.endswith(f"-{PURE}.whl")
    assert tags(wheels["pure"]) == {PURE}


def test_both_wheels_hold_the_same_but_for_the_machine_code(wheels: dict[str, Path]) -> None:
    native, pure = (set(zipfile.ZipFile(wheel).namelist()) for wheel in wheels.values())
    assert native - pure == set(machine_code_of_this_computer(wheels["native"]))
    assert pure <= native
    assert {name.split("/")[0] for name in pure if ".dist-info/" not in name} == {"hipgraph_cb"}


def test_a_kind_of_wheel_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    done = build("both", tmp_path)
    assert done.returncode != 0
    assert done.stderr.rstrip().endswith("HIPGRAPH_CB_WHEEL is 'both'; allowed: native, pure")


def installed(wheel: Path, folder: Path) -> Path:
    """The interpreter of a fresh virtual environment with the wheel, which borrows the packages that it depends on."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python), "install"]
    subprocess.run([*pip, "--quiet", "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    (site_packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    return python


@pytest.mark.parametrize("kind", ["native", pytest.param("pure", marks=pytest.mark.long)])
def test_the_ten_lines_of_the_readme_run_from_any_folder_with_nothing_but_a_wheel(
    wheels: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    python = installed(wheels[kind], tmp_path / "environment")
    ten_lines = TEN_LINES.findall((ROOT / "README.md").read_text())[0]
    program = f"{ten_lines}\nimport hipgraph_cb; print(hipgraph_cb.__file__)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = subprocess.run(
        [str(python), "-c", program], cwd=elsewhere, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    result, home = done.stdout.splitlines()
    assert result == "[1. 3. 5. 7.]"
    assert Path(home).is_relative_to(tmp_path / "environment")
