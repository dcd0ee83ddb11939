"""The conformance suite on AMD's own HIP runtimes, which run on the virtual HSA library.

What fails there is expected by name and with its reason. What is said to fail always and passes is an error too: then
it is to be taken out of the list.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.amd_packages import RUNTIMES
from support.amd_suite import outcomes

pytestmark = pytest.mark.rocm

FILES = """
addresses_by_value arguments arrays barriers basics calls_in_calls changed_programs closing_in_threads collections
commands_from_outside compared_replays constants copies disagreeing_sizes dispatches events executables failed_calls
faults fills fills_by_kernels flat_memory host_buffers host_calls indirect_counts inferred_dependencies launch_options
launches lifetimes loaded_code lost_edges nested_recordings number_slots older_calls profile program_updates programs
random_parts random_recordings random_threads refusals rows same_words
"""

SIZES = "AMD's runtime launches with the sizes of the notes, which those of the descriptor contradict"
AFTER_A_FAULT = "6.4.3 aborts after a fault, and 7.2.4 repeats its code for ever"
QUEUES = "AMD's runtime runs a graph on at most four queues, so a lost edge need not be seen"

GPU = "hip-gfx942"
OTHER_SIZE = "test_a_kernel_runs_whose_descriptor_states_another_size_than_its_note"

ALWAYS = {
    f"test_disagreeing_sizes.py::{OTHER_SIZE}[{GPU}-0-16]": SIZES,
    f"test_disagreeing_sizes.py::test_a_launch_has_the_larger_lds_size[{GPU}-4096]": SIZES,
    "test_collections.py::test_a_failure_on_a_collected_stream_is_logged_at_the_next_call": AFTER_A_FAULT,
}
SOMETIMES = {
    f"test_failed_calls.py::test_any_failed_call_leaves_nothing_behind[{GPU}-changes-False]": (
        "which calls a change needs depends on whether the launch before it is over"
    ),
    "test_faults.py": AFTER_A_FAULT,
    "test_refusals.py::test_a_load_outside_any_allocation_names_instruction_lane_and_distance": AFTER_A_FAULT,
    "test_refusals.py::test_an_opcode_that_does_not_exist_is_named_with_its_address": AFTER_A_FAULT,
    f"test_disagreeing_sizes.py::{OTHER_SIZE}[{GPU}-4-64]": SIZES,
    "test_lost_edges.py": QUEUES,
    "test_compared_replays.py::test_a_missing_barrier_is_told_from_a_change_that_was_ignored": QUEUES,
    "test_host_calls.py::test_a_missing_barrier_before_it_is_found": QUEUES,
    "test_host_calls.py::test_a_nested_recording_calls_functions_each_time_it_runs": (
        "6.4.3 was seen to give other bytes; the cause is not known"
    ),
}


@pytest.mark.parametrize("profile", RUNTIMES)
def test_the_conformance_suite_passes_but_for_what_is_listed(profile: str, tmp_path: Path) -> None:
    tests = [f"tests/conformance/test_{name}.py" for name in FILES.split()]
    found = outcomes(RUNTIMES[profile], tests, tmp_path)
    failed = {test: message for test, (outcome, message) in found.items() if outcome in ("failed", "crashed")}
    unexpected = {
        test: message for test, message in failed.items() if not any(known in test for known in (*ALWAYS, *SOMETIMES))
    }
    assert not unexpected
    mended = [known for known in ALWAYS if not any(known in test for test in failed)]
    assert not mended, "these pass now: take them out of the list"
    assert len(found) > 1000
