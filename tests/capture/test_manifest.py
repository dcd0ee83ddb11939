"""The manifest: every command type is held or refused by name; whatever `save` would not write is refused."""

import copy
import json
import random
import typing
from functools import cache

import numpy as np
import pytest
from support.captures import contents, everything, pack, parts, read, saved
from support.fakes import FakeBuffer

from hipgraph_cb import HipGraphError, Recording, Slot
from hipgraph_cb.capture.blobs import Blobs
from hipgraph_cb.capture.commands import FORMS, read_command, write_command
from hipgraph_cb.capture.expected import Expected
from hipgraph_cb.capture.hgcb import load
from hipgraph_cb.capture.manifest import VERSION
from hipgraph_cb.code_object.verify import verify
from hipgraph_cb.errors import (
    FailedPreconditionError,
    IncompatibleError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.commands import Collectives, Command, Copy2D, Dispatch, Fill2D, HostCall, Range
from hipgraph_cb.recording.commands.types import TYPES


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A file with everything. Its one code object is verified once for all the files that are made of it."""
    monkeypatch.setattr("hipgraph_cb.capture.manifest.verify", verify_once)
    return saved(tmp_path)


verify_once = cache(verify)


def test_every_type_of_command_can_be_held_and_is_checked():
    kinds = set(typing.get_args(Command))
    assert set(TYPES) == kinds
    assert {field.name for kind in TYPES.values() for field in kind.fields.values()} <= set(FORMS)
    found = everything()
    nested = [entry.recording for entry in found.resources.recordings.values()]
    assert {type(command) for recording in (found, *nested) for command in recording} == kinds


@pytest.mark.parametrize("command", everything(), ids=lambda command: type(command).__name__)
def test_a_command_reads_as_it_was_written(command):
    blobs = Blobs()
    row = json.loads(json.dumps(write_command(command, blobs)))
    assert read_command(row, blobs, VERSION) == command
    assert set(row) == {"kind", *command._fields} - set(TYPES[type(command)].later)


def test_a_field_that_came_later_is_there_only_where_it_says_something():
    (plain,) = (command for command in everything() if type(command) is Dispatch)
    blobs = Blobs()
    row = write_command(plain._replace(cooperative=True, priority=-2), blobs)
    assert (row["cooperative"], row["priority"]) == (True, -2)
    assert read_command(row, blobs, VERSION) == plain._replace(cooperative=True, priority=-2)
    for name, value in (("cooperative", False), ("priority", 0)):
        with pytest.raises(InvalidArgumentError) as raised:
            read_command({**write_command(plain, blobs), name: value}, blobs, VERSION)
        assert raised.value.what == "a field says what is so without it"
        assert raised.value.where == name
    for name, value in (("cooperative", 1), ("priority", 1 << 31), ("priority", True)):
        with pytest.raises(HipGraphError):
            read_command({**write_command(plain, blobs), name: value}, blobs, VERSION)


def test_version_1_has_neither_options_nor_commands_that_came_later():
    blobs = Blobs()
    for command in everything():
        row = write_command(command, blobs)
        if type(command) is Dispatch:
            del row["numbers"]
            row["priority"] = 1
        if type(command) in (Dispatch, Copy2D, Fill2D, HostCall, Collectives):
            with pytest.raises(InvalidArgumentError):
                read_command(row, blobs, 1)


def test_a_type_of_command_that_the_format_does_not_know_is_refused_by_name(tmp_path):
    class Teleport(typing.NamedTuple):
        target: Range
        label: str | None = None

    recording = Recording([Teleport(Range(0, 0, 1), "away")], label="strange")
    with pytest.raises(UnimplementedError) as raised:
        recording.save(tmp_path / "a.hgcb")
    assert raised.value.what == "a capture file cannot hold a command of type Teleport"
    assert raised.value.where == "saving a.hgcb, command 0 'away' in 'strange'"
    assert not list(tmp_path.iterdir())


def test_a_recording_without_commands_is_saved_only_when_that_is_meant(tmp_path):
    """A call that does nothing records nothing, so that an empty file would look like success."""
    with CommandBuffer() as cb:
        cb.fill_buffer(FakeBuffer(16), 0, length=0)
    with pytest.raises(FailedPreconditionError) as raised:
        cb.recording.save(tmp_path / "a.hgcb")
    assert raised.value.what == "save: the recording has no commands"
    assert not list(tmp_path.iterdir())
    cb.recording.save(tmp_path / "a.hgcb", allow_empty=True)
    assert Recording.load(tmp_path / "a.hgcb") == cb.recording


def test_groups_too_deep_for_the_format_are_refused_when_saving(tmp_path):
    with CommandBuffer() as cb:
        for _ in range(257):
            cb.begin_debug_group("deeper")
        cb.fill_buffer(FakeBuffer(4), 0)
        for _ in range(257):
            cb.end_debug_group()
    with pytest.raises(UnimplementedError):
        cb.recording.save(tmp_path / "a.hgcb")


def test_a_recording_that_nobody_checked_is_checked_when_saving(tmp_path):
    with CommandBuffer(validate=False) as cb:
        cb.fill_buffer(FakeBuffer(4, "x"), 0, length=400)
    with pytest.raises(HipGraphError) as raised:
        cb.recording.save(tmp_path / "a.hgcb")
    assert raised.value.found == "offset 0 + length 400 = 400"
    assert raised.value.where == "saving a.hgcb, command 0"


def test_memory_comes_back_with_types_and_tolerances(tmp_path):
    path = tmp_path / "a.hgcb"
    wanted = {"y": Expected.of(np.arange(64, dtype=np.float32), rtol=0.5), Slot(1): bytes(512)}
    everything().save(path, contents=contents(), expected=wanted)
    capture = load(path)
    assert capture.contents == {0: np.arange(64, dtype=np.float32).tobytes(), Slot(1): bytes(512)}
    assert capture.expected == {
        1: Expected(np.arange(64, dtype=np.float32).tobytes(), "float32", 0.5, 1e-5),
        Slot(1): Expected(bytes(512), "uint8", 0.0, 0.0),
    }
    assert capture.producer == "hipgraph_cb 0.1.0"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"nobody": bytes(4)}, NotFoundError),
        ({"x": bytes(4)}, InvalidArgumentError),
        ({"x": [1, 2]}, InvalidArgumentError),
        ({"x": bytes(256), 0: bytes(256)}, InvalidArgumentError),
        ({Slot(9): bytes(4)}, HipGraphError),
        ({Slot(1): b""}, InvalidArgumentError),
        ({"conformance": bytes(4)}, InvalidArgumentError),
        ([bytes(256)], InvalidArgumentError),
        (True, AttributeError),
    ],
)
def test_contents_that_fit_nothing_are_refused(tmp_path, given, error):
    with pytest.raises(error):
        everything().save(tmp_path / "a.hgcb", contents=given)
    assert not list(tmp_path.iterdir())


def test_another_version_is_refused_before_anything_else_is_read(data):
    document, _ = parts(data)
    for version in (0, VERSION + 1, "1", None, True, 10**19):
        with pytest.raises(IncompatibleError) as raised:
            read(pack({"format": document["format"], "version": version, "news": 1}, {}))
        assert raised.value.found == f"version {version!r}"
        assert raised.value.allowed == "versions 1, 2"


def test_a_file_of_the_first_version_is_read(tmp_path):
    """It has neither numbers in slots nor names of slots."""
    document, blobs = parts(saved(tmp_path, everything(version=1)))
    bodies = [document, *document["recordings"]]
    for body in bodies:
        assert body.pop("slot_names") == []
        for command in body["commands"]:
            assert command.pop("numbers", []) == []
    document["version"] = 1
    assert read(pack(document, blobs)).recording == everything(version=1)
    for changed in ({"functions": [{"id": 99, "label": None}]}, {"buffers": [{"memory": "host"}]}):
        rows = [{**document["buffers"][0], **row} for row in changed.get("buffers", ())]
        later = {**document, **changed, **({"buffers": [*rows, *document["buffers"][1:]]} if rows else {})}
        with pytest.raises(InvalidArgumentError) as raised:
            read(pack(later, blobs))
        assert raised.value.what == "an object of the manifest has other fields than its version of the format"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null\n",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 1_000_000,
        b'{"format": "hipgraph_cb capture"}',
        b'{"version":NaN}\n',
        b"\xff\xfe",
        b'"\\ud800',
        b'{"format":"hipgraph_cb capture","format":"hipgraph_cb capture","version":1}\n',
    ],
    ids=lambda text: str(text[:12]),
)
def test_text_in_another_form_is_refused(text):
    with pytest.raises(InvalidArgumentError):
        read(pack(text, {}))


def every_value(document, path=()):
    """Each place in a document, as a path."""
    yield path
    if isinstance(document, dict):
        for key in document:
            yield from every_value(document[key], (*path, key))
    elif isinstance(document, list):
        for index, each in enumerate(document):
            yield from every_value(each, (*path, index))


def changed(document, path, change):
    copied = copy.deepcopy(document)
    target = copied
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = change(target[path[-1]])
    return copied


EMPTY = ("accesses", "groups", "memory", "pointers", "numbers", "slot_names")
"""Arrays that may be empty."""
NUMBERS = (-1, 0, 1, 3, 63, 257, 1 << 31, (1 << 32) - 1, 1 << 40, (1 << 64) - 1, 1 << 64, 10**30)


@pytest.mark.parametrize("share", [0.3, pytest.param(1, marks=pytest.mark.long)])
def test_every_value_of_another_kind_is_refused_and_every_unknown_or_missing_field(data, share):
    document, blobs = parts(data)
    choose = random.Random(5)
    for path in every_value(document):
        if not path or choose.random() >= share:
            continue
        for other in ({}, [], 1.5, {"a": 1}, [[]]):
            if other == [] and (path[-1] in EMPTY or "dependencies" in path):
                continue
            if other == 1.5 and path[-1] in ("rtol", "atol"):
                continue
            with pytest.raises(HipGraphError):
                read(pack(changed(document, path, lambda _, other=other: other), blobs))
        target = document
        for key in path[:-1]:
            target = target[key]
        if isinstance(target, dict):
            for change in (lambda row, key=path[-1]: row.pop(key), lambda row: row.update(surplus=0)):
                copied = copy.deepcopy(document)
                row = copied
                for key in path[:-1]:
                    row = row[key]
                change(row)
                with pytest.raises(HipGraphError):
                    read(pack(copied, blobs))


@pytest.mark.parametrize("share", [0.15, pytest.param(1, marks=pytest.mark.long)])
def test_numbers_out_of_range_raise_errors_of_ours_or_make_another_sound_recording(data, share):
    """Where a number may be another one, what is loaded keeps all rules and saves as the same file."""
    document, blobs = parts(data)
    choose = random.Random(3)
    for path in every_value(document):
        target = document
        for key in path:
            target = target[key]
        if type(target) is not int:
            continue
        for number in [number for number in NUMBERS if choose.random() < share]:
            image = pack(changed(document, path, lambda _, number=number: number), blobs)
            check_sound(image)


def check_sound(image):
    from hipgraph_cb.capture.manifest import encode

    try:
        capture = read(image)
    except HipGraphError:
        return
    assert pack(*encode(capture)) == image


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("commands", 4, "pointers", 0, "at"), 1 << 20),
        (("commands", 4, "pointers", 0, "at"), 1),
        (("commands", 4, "pointers", 0, "at"), 24),
        (("commands", 4, "kernarg"), ""),
        (("commands", 4, "kernarg"), "00" * 4096),
        (("commands", 4, "kernarg"), "ff" * 288),
        (("commands", 4, "export"), "nobody"),
        (("commands", 4, "executable"), 0),
        (("commands", 4, "workgroup_count"), [0, 1, 1]),
        (("commands", 4, "workgroup_count"), [1 << 31, 1, 1]),
        (("commands", 4, "workgroup_size"), [2048, 1, 1]),
        (("commands", 4, "pointers", 0, "place", "offset"), 1),
        (("commands", 0, "target", "length"), 260),
        (("commands", 0, "pattern"), "000102"),
        (("commands", 0, "pattern"), "0001020"),
        (("commands", 0, "target", "buffer"), 99),
        (("commands", 1, "target", "length"), 1),
        (("commands", 3, "source", "buffer"), 1),
        (("commands", 5, "workgroup_count", "offset"), 5),
        (("commands", 8, "bindings"), []),
        (("commands", 8, "bindings", 0, "length"), 4),
        (("commands", 8, "recording"), 0),
        (("commands", 2, "kind"), "reset"),
        (("commands", 6, "events"), []),
        (("commands", 6, "events"), [2, 2]),
        (("layer_starts",), [0]),
        (("layer_starts",), []),
        (("dependencies", 1), [1]),
        (("dependencies", 1), [5]),
        (("groups", 1, "depth"), 0),
        (("groups", 0, "stop"), 99),
        (("binding_capacity",), 1),
        (("executables", 0, "target"), "gfx90a"),
        (("buffers", 0, "size"), 0),
        (("recordings", 0, "uses"), []),
        (("recordings", 0, "binding_capacity"), 0),
        (("memory", 0, "expected"), {"data": "", "dtype": "object", "rtol": 0.0, "atol": 0.0}),
    ],
    ids=str,
)
def test_a_manifest_that_breaks_a_rule_of_recording_is_refused(data, path, value):
    document, blobs = parts(data)
    assert read(pack(document, blobs)).recording == everything()
    with pytest.raises(HipGraphError):
        read(pack(changed(document, path, lambda _: value), blobs))


def test_a_blob_that_nobody_names_and_one_that_is_not_there_are_refused(data):
    document, blobs = parts(data)
    import hashlib

    surplus = hashlib.sha256(b"surplus").hexdigest()
    with pytest.raises(InvalidArgumentError) as raised:
        read(pack(document, {**blobs, surplus: b"surplus"}))
    assert raised.value.what == "the file has blobs that its manifest does not name"
    for digest in blobs:
        with pytest.raises(NotFoundError):
            read(pack(document, {name: blob for name, blob in blobs.items() if name != digest}))


def test_nested_recordings_that_would_run_without_end_are_refused(data):
    """Sixteen levels that run each other ten times are 10^16 commands."""
    document, _ = parts(data)
    base = {**document["recordings"][0], "uses": [0], "binding_capacity": 0, "dependencies": None, "groups": []}
    fill = {**document["commands"][0], "label": None}
    rows = [{**base, "id": 100, "commands": [fill], "layer_starts": [0]}]
    for level in range(1, 16):
        runs = [{"kind": "execute", "recording": 99 + level, "bindings": [], "label": None}] * 10
        uses = [0, *range(100, 100 + level)]
        rows.append({**base, "id": 100 + level, "uses": uses, "commands": runs, "layer_starts": [0]})
    top = {
        **document,
        "buffers": document["buffers"][:1],
        "executables": [],
        "events": [],
        "recordings": rows,
        "memory": [],
        "commands": [{"kind": "execute", "recording": 115, "bindings": [], "label": None}],
        "layer_starts": [0],
        "dependencies": None,
        "groups": [],
    }
    with pytest.raises(HipGraphError) as raised:
        read(pack(top, {}))
    assert raised.value.what == "nested recordings run too many commands"


def test_recordings_nested_deeper_than_a_command_buffer_nests_them_are_refused(data):
    document, _ = parts(data)
    base = {**document["recordings"][0], "binding_capacity": 0, "dependencies": None, "groups": [], "layer_starts": [0]}
    rows = [{**base, "id": 100, "uses": [0], "commands": [{**document["commands"][0], "label": None}]}]
    for level in range(1, 17):
        run = {"kind": "execute", "recording": 99 + level, "bindings": [], "label": None}
        rows.append({**base, "id": 100 + level, "uses": [0, *range(100, 100 + level)], "commands": [run]})
    kept = {"buffers": document["buffers"][:1], "executables": [], "events": [], "memory": [], "groups": []}
    for depth, is_refused in ((16, False), (17, True)):
        run = {"kind": "execute", "recording": 99 + depth, "bindings": [], "label": None}
        shape = {"recordings": rows[:depth], "commands": [run], "layer_starts": [0], "dependencies": None}
        image = pack({**document, **kept, **shape}, {})
        if not is_refused:
            assert read(image).recording.depth == depth
            continue
        with pytest.raises(HipGraphError) as raised:
            read(image)
        assert raised.value.what == "recordings are nested too deep"


def corrupted(data, count):
    """Files with one to eight bytes changed, cut, doubled or moved."""
    choose = random.Random(7)
    for _ in range(count):
        broken = bytearray(data)
        for _ in range(choose.randint(1, 8)):
            at, length = choose.randrange(len(broken)), choose.randint(1, 40)
            kind = choose.randrange(4)
            if kind == 0:
                broken[at] = choose.randrange(256)
            elif kind == 1:
                del broken[at : at + length]
            elif kind == 2:
                broken[at:at] = broken[at : at + length]
            else:
                broken[at : at + length] = choose.randbytes(length)
            if not broken:
                break
        yield bytes(broken)


def mutated(data, count):
    """Sound archives round manifests with one to three values exchanged for others of the same document."""
    document, blobs = parts(data)
    paths = [path for path in every_value(document) if path]
    choose = random.Random(11)

    def value(path):
        target = document
        for key in path:
            target = target[key]
        return copy.deepcopy(target)

    for _ in range(count):
        copied = document
        for _ in range(choose.randint(1, 3)):
            other = value(choose.choice(paths)) if choose.random() < 0.6 else choose.choice([*NUMBERS, "", None, True])
            try:
                copied = changed(copied, choose.choice(paths), lambda _, other=other: other)
            except (KeyError, IndexError, TypeError):
                continue
        yield pack(copied, blobs)


@pytest.mark.parametrize("count", [200, pytest.param(5000, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", [corrupted, mutated], ids=["bytes", "values"])
def test_corrupted_files_raise_errors_of_ours_only(data, kind, count):
    refused = 0
    for image in kind(data, count):
        if image == data:
            continue
        try:
            capture = read(image)
        except HipGraphError:
            refused += 1
            continue
        assert kind is mutated
        assert isinstance(capture.recording, Recording)
        check_sound(image)
    assert refused > count // 2


def test_many_executables_of_one_code_object_are_verified_once(tmp_path, monkeypatch):
    document, blobs = parts(saved(tmp_path))
    calls = []
    monkeypatch.setattr("hipgraph_cb.capture.manifest.verify", lambda data, _: calls.append(1) or verify_once(data))
    (row,) = document["executables"]
    more = [{**row, "id": 1000 + number} for number in range(5000)]
    capture = read(pack({**document, "executables": [row, *more]}, blobs))
    assert (len(capture.recording.resources.executables), len(calls)) == (5001, 1)
