"""The trace of a profile: complete events by the Trace Event Format, on tracks where none overlap."""

import json
from collections import defaultdict
from itertools import pairwise

from support.recordings import HOSTILE, hostile, step

from hipgraph_cb.recording.profile import Profile, Span

SPANS = (Span(0.0, 2e-6), Span(1e-6, 3e-6), Span(3e-6, 7e-6), Span(7e-6, 7.5e-6))


def events(profile: Profile) -> list[dict]:
    return json.loads(profile.to_perfetto())["traceEvents"]


def test_the_slices_are_microseconds_from_the_first_start() -> None:
    rows = [row for row in events(Profile(step(), 1, SPANS)) if row["ph"] == "X" and row["cat"] == "command"]
    assert [(row["name"], row["ts"], row["dur"]) for row in rows] == [
        ("fill", 0.0, 2.0),
        ("update", 1.0, 2.0),
        ("dispatch saxpy", 3.0, 4.0),
        ("copy", 7.0, 0.5),
    ]
    assert rows[2]["args"]["node"] == "c2"
    assert rows[2]["args"]["details"][-2:] == ["a: float = 2.5", "n: uint = 7"]


def test_layers_have_a_track_of_their_own() -> None:
    rows = [row for row in events(Profile(step(), 1, SPANS)) if row["ph"] == "X" and row["cat"] == "layer"]
    assert [(row["name"], row["ts"], row["dur"]) for row in rows] == [
        ("layer 0", 0.0, 3.0),
        ("layer 1", 3.0, 4.0),
        ("layer 2", 7.0, 0.5),
    ]
    assert len({row["tid"] for row in rows}) == 1


def test_slices_of_one_track_do_not_overlap_and_every_track_has_a_name() -> None:
    rows = events(Profile(step(), 1, SPANS))
    named = {row["tid"] for row in rows if row["name"] == "thread_name"}
    tracks = defaultdict(list)
    for row in rows:
        if row["ph"] == "X":
            tracks[row["tid"]].append((row["ts"], row["ts"] + row["dur"]))
    assert tracks.keys() == named
    for spans in tracks.values():
        assert all(before[1] <= after[0] for before, after in pairwise(sorted(spans)))


def test_hostile_names_stay_text() -> None:
    rows = events(Profile(hostile(), 1, SPANS[2:]))
    shown = HOSTILE.replace("\n", "\\n").replace("\u2028", "\\u2028").replace("\ud800", "\\ud800")
    assert rows[0]["args"]["name"] == shown
    assert [row["name"] for row in rows if row.get("cat") == "command"] == ["fill", f"dispatch {shown}"]


def test_a_profile_holds_the_medians_of_its_runs() -> None:
    recording = step()
    runs = [[Span(0.0, length), *SPANS[1:]] for length in (5e-6, 1e-6, 2e-6)]
    profile = Profile.of_runs(recording, runs)
    assert (profile.repeats, profile.commands[0]) == (3, Span(0.0, 2e-6))
