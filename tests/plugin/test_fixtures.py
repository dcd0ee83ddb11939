"""The pytest plugin, used as a stranger would: in a pytest of its own, on test files of its own."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from support.child import HANGING

from hipgraph_cb import samples

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
OTHERS = [
    option for name in ("hipgraph_cb", "cacheprovider", "xdist", "hypothesispytest") for option in ("-p", f"no:{name}")
]
PLUGIN = (*OTHERS, "-p", "hipgraph_cb.testing")
CALL = 'run_kernel("saxpy.gfx942.hsaco", "saxpy", y, x, 2.0, {count}, workgroup_count=1, workgroup_size=64)'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copy(samples.path("saxpy", "gfx942"), tmp_path)
    return tmp_path


def run_pytest(folder: Path, *options: str, virtual: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HIPGRAPH_CB_")}
    environment |= {"PYTHONPATH": str(ROOT)} | ({} if virtual is None else {"HIPGRAPH_CB_VIRTUAL": virtual})
    command = [sys.executable, "-m", "pytest", "-q", *PLUGIN, *options, str(folder)]
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=HANGING, check=False
    )


def write_test(folder: Path, body: str, fixture: str = "run_kernel", marker: str = "") -> None:
    head = "import numpy as np, pytest\nx, y = np.ones((2, 64), np.float32)\n"
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    (folder / "test_mine.py").write_text(f"{head}{marker}\ndef test_mine({fixture}):\n{lines}\n")


def test_the_sample_of_kernel_tests_passes() -> None:
    done = run_pytest(SAMPLES / "kernel_tests")
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


def test_a_failing_test_prints_its_recording(project: Path) -> None:
    write_test(project, f"result, _ = {CALL.format(count=64)}\nassert result[0] == 4")
    done = run_pytest(project)
    assert done.returncode == 1
    assert (
        "hipgraph_cb recording -----------------------------\n"
        "Recording 'saxpy': 1 command, 1 layer, 2 buffers, 1 executable, 0 slots\n"
        "layer 0\n"
        "  0 dispatch saxpy\n"
        "      1 x 1 x 1 workgroups of 64 x 1 x 1\n"
        "      arg0: float* = `args[0]`[0:256]\n"
        "      arg1: float* = `args[1]`[0:256]\n"
        "      arg2: float = 2.0\n"
        "      arg3: uint = 64\n"
    ) in done.stdout


def test_a_fault_of_the_kernel_fails_the_test_with_its_report(project: Path) -> None:
    write_test(project, CALL.format(count=1 << 20).replace("workgroup_count=1", "workgroup_count=1 << 14"))
    done = run_pytest(project)
    assert done.returncode == 1
    assert "HipError" in done.stdout
    assert "past the end of" in done.stdout


def test_the_device_of_a_test_is_that_of_its_marker(project: Path) -> None:
    marker = '@pytest.mark.hipgraph_target("gfx1100")'
    write_test(project, 'assert virtual_gpu.target.processor == "gfx1100"', "virtual_gpu", marker)
    assert "1 passed" in run_pytest(project).stdout


def test_the_device_of_a_test_without_a_marker_is_that_of_the_option(project: Path) -> None:
    write_test(project, 'assert virtual_gpu.target.processor == "gfx1100"', "virtual_gpu")
    assert "1 passed" in run_pytest(project, "--hipgraph-target=gfx1100").stdout


def test_a_target_whose_code_is_not_executed_fails_its_own_test_only(project: Path) -> None:
    write_test(project, "pass", "virtual_gpu", '@pytest.mark.hipgraph_target("gfx90a")')
    test = project / "test_mine.py"
    test.write_text(test.read_text() + "\ndef test_of_another(virtual_gpu): pass\n")
    done = run_pytest(project)
    assert "no virtual GPU executes code for gfx90a" in done.stdout
    assert "1 passed, 1 error" in done.stdout


def test_a_target_that_the_process_does_not_see_fails_by_name(project: Path) -> None:
    write_test(project, "pass", "virtual_gpu", '@pytest.mark.hipgraph_target("gfx1100")')
    done = run_pytest(project, virtual="gfx942")
    assert done.returncode == 1
    assert (
        "this process sees gfx942, and the test wants gfx1100: unset HIPGRAPH_CB_VIRTUAL, or add gfx1100 to it"
    ) in done.stdout


def test_a_marker_without_a_name_is_a_usage_error(project: Path) -> None:
    write_test(project, "pass", "virtual_gpu", "@pytest.mark.hipgraph_target")
    done = run_pytest(project)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "test_mine: write @pytest.mark.hipgraph_target(name) with one name, such as 'gfx942'" in done.stderr


def test_a_test_for_a_real_gpu_is_skipped_with_the_reason_where_the_process_runs_on_virtual_ones(project: Path) -> None:
    write_test(project, "pass", "hip_device")
    done = run_pytest(project, "-rs", virtual="gfx942")
    assert "1 skipped" in done.stdout
    assert "the test wants a real AMD GPU: " in done.stdout


def test_it_does_nothing_until_a_test_asks_for_it(project: Path) -> None:
    body = 'import os, sys\nassert "hip" not in sys.modules\nassert "hipgraph_cb.opening" not in sys.modules\n'
    write_test(project, body + 'assert "HIPGRAPH_CB_VIRTUAL" not in os.environ', "")
    assert "1 passed" in run_pytest(project).stdout


def test_pytest_finds_the_plugin_by_itself_where_the_package_is_installed() -> None:
    try:
        points = distribution("hipgraph_cb").entry_points
    except PackageNotFoundError:
        pytest.skip("the package is not installed in this environment")
    assert [point.value for point in points if point.group == "pytest11"] == ["hipgraph_cb.testing"]


def test_the_order_of_waves_is_that_of_the_option(project: Path) -> None:
    body = 'from hipgraph_cb.opening import virtual_runtime\nassert virtual_runtime().settings.schedule == "{}"'
    write_test(project, body.format("random"), "virtual_gpu")
    assert "1 passed" in run_pytest(project, "--hipgraph-schedule=random").stdout
    assert "1 failed" in run_pytest(project).stdout
