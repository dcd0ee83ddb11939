"""The samples run as they stand, in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pydot
import pytest
from support.child import HANGING
from support.tools import require_tool

SAMPLES = Path(__file__).parents[1] / "samples"


def run_sample(name: str) -> str:
    result = subprocess.run(
        [sys.executable, str(SAMPLES / name)], capture_output=True, text=True, env=dict(os.environ), timeout=HANGING
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_saxpy_prints_its_result() -> None:
    assert run_sample("saxpy.py").startswith("y[:4] = [1. 3. 5. 7.] on ")


def test_the_step_counter_gives_each_replay_numbers_of_its_own() -> None:
    assert run_sample("step_counter.py").startswith("each quarter of y: [10.  9.  7.  4.] on ")


def test_the_pipeline_draws_itself_and_agrees_with_numpy_at_every_replay() -> None:
    drawing, _, replays = run_sample("pipeline.py").partition("replay 0")
    (graph,) = pydot.graph_from_dot_data(drawing)
    assert len(graph.get_edges()) >= 2
    assert replays.count("sums agree with numpy") == 3


def test_both_backends_replay_the_same_recording() -> None:
    lines = run_sample("hsa_direct.py").splitlines()
    assert [line[:21] for line in lines if line.startswith(("hip:", "hsa:"))] == [
        "hip: [1. 3. 5. 7.] on",
        "hsa: [1. 3. 5. 7.] on",
    ]
    assert lines[-1] == "equal recordings: True"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("vector_add.py", "1000 sums are those of numpy, on "),
        ("reduction.py", "the sum is 449808; numpy says 449808\n"),
        (
            "softmax.py",
            "replay 0: rows add up to 1.000\nreplay 1: rows add up to 1.000\nreplay 2: rows add up to 1.000\n",
        ),
        ("matmul.py", "64 x 64: the product is that of numpy; 1 dependency inferred\n"),
        ("histogram.py", "50000 bytes counted, most of them 130\n"),
        ("struct_argument.py", "400 of 500 weights updated\n"),
        ("array_exchange.py", "[[ 0.  1.  2.  3.]\n [ 7.  7.  7.  7.]\n [ 8.  9. 10. 11.]]\n"),
    ],
)
def test_programs_as_people_write_them_run(name: str, expected: str) -> None:
    """Each compares with numpy itself; the text is what it prints then."""
    require_tool("clang-19")
    assert run_sample(name).startswith(expected)
    assert len((SAMPLES / name).read_text().splitlines()) < 40
