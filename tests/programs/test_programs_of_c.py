"""Programs without any Python of their own run on the virtual GPUs, and end as they please."""

from __future__ import annotations

import signal
import subprocess

import pytest
from support.child import ROOT

SAXPY = ROOT / "hipgraph_cb" / "samples" / "saxpy.gfx942.hsaco"
ENDLESS = ROOT / "tests" / "fixtures" / "virtual" / "endless.gfx942.hsaco"


def test_a_program_opens_the_library_by_each_of_its_names(run, compiled, library_folder):
    names = ["libamdhip64.so.7", "libamdhip64.so", "libamdhip64.so.6", str(library_folder / "libamdhip64.so.5")]
    expected = "\n".join(f"{name}: 0, 2 devices" for name in names)
    assert run(compiled("opened"), *names) == (7, expected, "")


def test_a_linked_program_calls_before_main_in_threads_and_after_main(run, compiled):
    threads = [f"thread {number}: device {number % 2}, 1" for number in range(8)]
    expected = [
        "before main: 0",
        "main: 1",
        *threads,
        "main is on device 0",
        "at exit: 0 0 5",
        "after main: 0, 0, device 0, 0",
    ]
    assert run(compiled("linked"), SAXPY) == (0, "\n".join(expected), "")


def test_eight_threads_make_the_first_call_at_once(run, compiled):
    assert run(compiled("first_calls")) == (0, "0 0 0 0 0 0 0 0", "")


def test_a_forked_child_is_refused_and_one_that_executes_a_program_has_gpus_of_its_own(run, compiled):
    expected = [
        "child: hipErrorDeinitialized, hipFree 0, hipDeviceSynchronize 0",
        "child ended with 4",
        "again: 1",
        "child ended with 5",
        "parent: 1",
    ]
    assert run(compiled("forks"), SAXPY) == (0, "\n".join(expected), "")


@pytest.mark.parametrize(
    "way, status",
    [("return", 3), ("_exit", 4), ("abort", -signal.SIGABRT), ("thread", 6)],
    ids=lambda value: str(value),
)
def test_a_program_ends_while_a_kernel_runs_without_an_end(run, compiled, way, status):
    assert run(compiled("ends"), way, ENDLESS) == (status, "launched", "")


def test_ctrl_c_ends_a_program_that_waits_for_a_kernel(environment, compiled):
    command = [compiled("ends"), "wait", ENDLESS]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "launched\n"
        child.send_signal(signal.SIGINT)
        assert child.communicate() == ("", "")
    assert child.returncode == -signal.SIGINT


def test_a_library_runs_a_kernel_while_it_is_being_loaded(run, compiled):
    plugin = compiled("plugin", "-shared", "-fPIC")
    assert run(compiled("loads_plugin"), plugin, CODE_OBJECT=str(SAXPY)) == (0, "while it is loaded: 1", "")


def test_an_hsa_program_finds_agents_and_the_names_of_their_instruction_sets(run, compiled):
    gpu = "gfx942: 304 units, 0 attributes are not known, amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
    expected = ["virtual CPU: 1 units, 0 attributes are not known,", gpu, gpu, "0 0"]
    assert run(compiled("agents")) == (0, "\n".join(expected), "")


def test_the_places_of_the_kernel_driver_answer(run, compiled):
    assert run(compiled("probes")) == (0, "1 3 gfx942\n4096\n0 0 -1", "")


def test_a_fault_is_shown_to_the_user_of_a_program_that_knows_codes_only(run, compiled):
    command = compiled("ends"), "wait", ENDLESS
    text = (
        "hipgraph_cb: kernel endless: kernel stopped before its end: stopped by the watchdog after 0.2 s "
        "(HIPGRAPH_CB_VIRTUAL_WATCHDOG changes or lifts it)"
    )
    code, output, errors = run(*command, HIPGRAPH_CB_VIRTUAL_WATCHDOG="0.2")
    assert (code, output, errors.splitlines()[0]) == (8, "launched\nthe wait came back with 702", text)


def test_files_of_another_profile_are_refused(run, compiled):
    code, output, errors = run(compiled("opened"), "libamdhip64.so.7", HIPGRAPH_CB_VIRTUAL_PROFILE="6.4")
    assert (code, output) == (7, "libamdhip64.so.7: 4, -1 devices")
    assert errors.startswith(
        "hipgraph_cb: the virtual GPU cannot start: FailedPreconditionError: "
        "the virtual GPU's library on disk has other functions than this process has"
    )


def test_ranks_of_rccl_are_threads_or_one_thread_and_not_processes(run, compiled):
    status, output, errors = run(compiled("all_reduce"), NCCL_DEBUG="WARN")
    assert (status, output) == (0, "threads: 3 3\none thread: 3 3\nchild ended with 5")
    assert "the virtual librccl connects ranks of one process only; use a thread for each rank" in errors
