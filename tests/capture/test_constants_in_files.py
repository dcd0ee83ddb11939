"""Constants of executables and wrappers in capture files: kept, compared, given to another build."""

from pathlib import Path

import numpy as np
import pytest
from support.captures import pack, parts, read, saved
from support.containers import Export, bundle, hip_entry, wrapped
from support.fakes import FakeBuffer, FakeExecutable

from hipgraph_cb import HipGraphError
from hipgraph_cb.capture.diff import compare
from hipgraph_cb.capture.replacement import with_kernel
from hipgraph_cb.code_object.constants import with_constants
from hipgraph_cb.code_object.verify import inspect, verify
from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.command_buffer import CommandBuffer

FOLDER = Path(__file__).parents[1] / "fixtures" / "constants"
CODE = (FOLDER / "constants.gfx942.hsaco").read_bytes()
OPEN = {"factor": np.uint32(3), "pair": bytes(8)}


def recorded(*executables):
    """A launch of `scale` from each."""
    with CommandBuffer() as cb:
        for executable in executables:
            cb.dispatch(FakeExecutable(executable)["scale"], 1, args=[FakeBuffer(64), FakeBuffer(64)])
    return cb.recording


def with_offset(value):
    return with_constants(inspect(CODE), {**OPEN, "offset": value})


def test_a_file_has_the_constants_of_each_executable(tmp_path):
    recording = recorded(with_offset(1), with_offset(2))
    data = saved(tmp_path, recording)
    document, _ = parts(data)
    assert [row["constants"] for row in document["executables"]] == [
        [
            {"name": "factor", "value": "03000000"},
            {"name": "offset", "value": value},
            {"name": "pair", "value": "00" * 8},
        ]
        for value in ("01000000", "02000000")
    ]
    loaded = read(data).recording
    assert loaded == recording
    assert loaded != recorded(with_offset(1), with_offset(3))


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.clear(),
        lambda rows: rows.reverse(),
        lambda rows: rows.append(rows[-1]),
        lambda rows: rows.pop(),
        lambda rows: rows[0].update(name="nobody"),
        lambda rows: rows[1].update(value="0100"),
        lambda rows: rows[0].update(value=""),
        lambda rows: rows[0].update(value="0G"),
        lambda rows: rows[0].update(size=4),
        lambda rows: rows[0].update(name=1),
    ],
)
def test_constants_that_no_executable_has_are_refused(tmp_path, change):
    document, blobs = parts(saved(tmp_path, recorded(with_offset(1))))
    change(document["executables"][0]["constants"])
    with pytest.raises(HipGraphError):
        read(pack(document, blobs))


def test_a_file_without_the_constants_that_its_code_needs_is_refused(tmp_path):
    document, blobs = parts(saved(tmp_path, recorded(with_offset(1))))
    del document["executables"][0]["constants"]
    with pytest.raises(HipGraphError, match="no constants are given"):
        read(pack(document, blobs))


def test_the_first_version_of_the_format_has_no_constants(tmp_path):
    document, blobs = parts(saved(tmp_path, recorded(with_offset(1))))
    document["version"] = 1
    del document["slot_names"]
    for command in document["commands"]:
        del command["numbers"]
    with pytest.raises(InvalidArgumentError) as raised:
        read(pack(document, blobs))
    assert raised.value.found == "'constants'"


def test_a_constant_that_changed_is_named():
    found = compare(recorded(with_offset(1)), recorded(with_constants(inspect(CODE), OPEN)))
    assert found.executables == ["executable 2: constant offset, 01000000 -> none"]
    assert compare(recorded(with_offset(1)), recorded(with_offset(1))).is_empty


def test_another_build_of_a_kernel_gets_the_constants_of_the_recorded_one():
    changed, _ = with_kernel(recorded(with_offset(7)), "scale", inspect(CODE))
    (entry,) = changed.resources.executables.values()
    assert entry.verified == with_offset(7)


def test_a_kernel_that_was_recorded_with_two_sets_of_constants_takes_no_other_build():
    with pytest.raises(InvalidArgumentError) as raised:
        with_kernel(recorded(with_offset(1), with_offset(2)), "scale", inspect(CODE))
    assert str(raised.value) == (
        "the recording has kernel 'scale' with several sets of constants\n  found: executable 2, executable 5"
    )


def test_a_wrapper_of_a_bundle_is_read_for_the_target_that_the_file_names(tmp_path):
    other = (FOLDER / "constants.gfx90a.hsaco").read_bytes()
    both = bundle((hip_entry("gfx90a"), other), (hip_entry("gfx942"), CODE))
    executable = verify(wrapped(b"HIP1", [Export("scale", (4, 1, 1), 0, 2)], [both]), "gfx942")
    data = saved(tmp_path, recorded(with_constants(executable, OPEN)))
    (entry,) = read(data).recording.resources.executables.values()
    assert entry.verified.data == CODE
    document, blobs = parts(data)
    document["executables"][0]["target"] = "gfx1100"
    with pytest.raises(HipGraphError):
        read(pack(document, blobs))
