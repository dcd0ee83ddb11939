"""`hipgraph-cb bench joins` measures the four policies, and advises only where it can."""

import json

import pytest

from hipgraph_cb.cli import main
from hipgraph_cb.cli.bench import measured_auto
from hipgraph_cb.recording.dependencies import AutoJoin, JoinPolicy


def test_each_policy_is_measured_for_each_width(capsys):
    assert main(["bench", "joins", "--json", "--widths", "2,9", "--kernels", "18", "--repeats", "1"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [(row["policy"], row["width"], row["layers"]) for row in facts["rows"]] == [
        (policy, width, layers) for width, layers in ((2, 9), (9, 2)) for policy in ("edges", "empty", "kernel", "auto")
    ]
    assert all(row["replay_us"] >= row["host_us"] > 0 for row in facts["rows"])
    assert facts["device"]["virtual"] is True
    assert facts["auto"] is None


def test_the_text_says_that_a_virtual_device_says_nothing_about_a_gpu(capsys):
    assert main(["bench", "joins", "--widths", "2", "--kernels", "2", "--repeats", "1"]) == 0
    text = capsys.readouterr().out
    assert "a virtual device: the figures describe this library on this CPU, not a GPU" in text
    assert text.endswith("nothing is kept: measure on a GPU\n")


def rows(times):
    return [
        {"policy": policy, "width": width, "replay_us": time}
        for width, by_policy in times.items()
        for policy, time in zip(("edges", "empty", "kernel", "auto"), by_policy, strict=True)
    ]


def test_auto_takes_edges_up_to_the_widest_layers_for_which_no_node_is_faster():
    h200 = {4: (480, 1452, 613, 486), 8: (482, 1262, 508, 522), 16: (499, 1463, 371, 1503), 32: (483, 1583, 302, 1566)}
    assert measured_auto(rows(h200)) == AutoJoin(64, JoinPolicy.KERNEL)


def test_auto_takes_the_node_with_the_least_geometric_mean_beyond_them():
    assert measured_auto(rows({4: (100, 90, 95, 0), 8: (200, 90, 100, 0)})) == AutoJoin(0, JoinPolicy.EMPTY)
    assert measured_auto(rows({4: (100, 96, 99, 0), 8: (100, 140, 120, 0)})) == AutoJoin(64, JoinPolicy.KERNEL)


@pytest.mark.parametrize("words", [["--widths", "0"], ["--repeats", "0"], ["--kernels", "-1"]])
def test_counts_below_one_are_refused(words, capsys):
    assert main(["bench", "joins", *words]) == 2
    assert capsys.readouterr().err == (
        "hipgraph-cb bench: widths, kernels and repeats are counts\n  allowed: 1 or more\n"
    )
