"""The samples run as they stand, in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pydot

SAMPLES = Path(__file__).parents[1] / "samples"


def run_sample(name: str) -> str:
    result = subprocess.run(
        [sys.executable, str(SAMPLES / name)], capture_output=True, text=True, env=dict(os.environ), timeout=120
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_saxpy_prints_its_result() -> None:
    assert run_sample("saxpy.py").startswith("y[:4] = [1. 3. 5. 7.] on ")


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
