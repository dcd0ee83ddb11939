"""The container: one form, and every other one refused before its content is looked at."""

import hashlib
import io
import os
import struct
import tracemalloc
import warnings
import zipfile

import pytest
from support.captures import everything, pack, parts, read, saved, zipped

from hipgraph_cb import HipGraphError, Recording
from hipgraph_cb.capture.archive import write_archive
from hipgraph_cb.errors import (
    DataLossError,
    InvalidArgumentError,
    MissingFileError,
    NotFoundError,
    ResourceExhaustedError,
    UnimplementedError,
)


@pytest.fixture
def data(tmp_path):
    return saved(tmp_path)


def entries(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(info.filename, archive.read(info)) for info in archive.infolist()]


def test_an_independent_reader_finds_the_manifest_and_blobs_named_by_their_sha256(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert names[0] == "manifest.json"
        assert names[1:] == sorted(f"blobs/{hashlib.sha256(archive.read(name)).hexdigest()}" for name in names[1:])
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}


def test_equal_recordings_saved_at_different_times_and_places_give_equal_bytes(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    assert saved(tmp_path) == saved(tmp_path / "elsewhere")


def test_a_file_that_another_tool_packed_again_is_refused(data):
    with pytest.raises(UnimplementedError) as raised:
        read(zipped(entries(data), zipfile.ZIP_DEFLATED))
    assert raised.value.found == "an entry compressed by method 8"
    assert raised.value.next_step == "use the file as `save` wrote it, not one packed again by another tool"


def test_an_encrypted_entry_is_refused(data):
    at = data.index(b"PK\1\2")
    broken = bytearray(data)
    broken[at + 8] |= 1
    with pytest.raises(UnimplementedError) as raised:
        read(bytes(broken))
    assert raised.value.found == "an encrypted entry"


def test_a_zip_bomb_is_refused_without_growing():
    bomb = zipped([("manifest.json", bytes(1 << 25))], zipfile.ZIP_DEFLATED)
    tracemalloc.start()
    with pytest.raises(UnimplementedError):
        read(bomb)
    assert tracemalloc.get_traced_memory()[1] < 1 << 22
    tracemalloc.stop()


@pytest.mark.parametrize(
    "name",
    ["../evil", "/etc/passwd", "blobs/../" + "0" * 64, "blobs/" + "0" * 63, "blobs/" + "A" * 64, "0" * 64, "x" * 65535],
)
def test_an_entry_of_another_name_is_refused(name):
    with pytest.raises(InvalidArgumentError):
        read(zipped([("manifest.json", b"{}"), (name, b"")]))
    with pytest.raises(InvalidArgumentError) as raised:
        read(pack_names(name))
    assert raised.value.what in (
        "a capture file has an entry of another name",
        "the archive is not in the form of a capture file",
    )


def pack_names(name):
    """An archive whose headers are in the right form, with a name of the test's own."""
    from hipgraph_cb.capture.archive import _end, _Entry

    rows = [_Entry("manifest.json", 0, 0), _Entry(name, 0, 0)]
    offset, body, directory = 0, b"", b""
    for row in rows:
        directory += row.central(offset)
        body += row.local()
        offset = len(body)
    return body + directory + _end(2, len(directory), len(body))


def test_a_name_that_stands_twice_is_refused(data):
    content = entries(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        doubled = zipped([*content, content[-1]])
    with pytest.raises(InvalidArgumentError):
        read(doubled)
    document, blobs = parts(data)
    digest = min(blobs)
    image = bytearray(pack(document, {digest: blobs[digest], "f" * 64: blobs[digest]}))
    with pytest.raises(InvalidArgumentError) as raised:
        read(bytes(image.replace(b"f" * 64, digest.encode())))
    assert raised.value.what == "a capture file has an entry twice or out of order"


@pytest.mark.parametrize("extra", [b"front", b"\0"])
def test_bytes_before_between_or_behind_the_entries_are_refused(data, extra):
    directory = data.index(b"PK\1\2")
    for changed in (extra + data, data + extra, data[:directory] + extra + data[directory:]):
        with pytest.raises(InvalidArgumentError):
            read(changed)


def test_a_comment_is_refused(data):
    with pytest.raises(InvalidArgumentError):
        read(zipped(entries(data), comment=b"hello"))


@pytest.mark.parametrize("size", [0, 1, (1 << 32) - 1])
def test_a_size_that_is_wrong_is_refused(data, size):
    at = data.index(b"PK\1\2")
    for offsets in ((20,), (24,), (20, 24)):
        broken = bytearray(data)
        for offset in offsets:
            struct.pack_into("<I", broken, at + offset, size)
        with pytest.raises(InvalidArgumentError):
            read(bytes(broken))


def test_counts_beyond_what_is_there_allocate_nothing(data):
    broken = bytearray(data)
    struct.pack_into("<HH", broken, len(data) - 14, 0xFFFF, 0xFFFF)
    tracemalloc.start()
    with pytest.raises(InvalidArgumentError):
        read(bytes(broken))
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_content_under_another_hash_is_refused(data):
    document, blobs = parts(data)
    digest = min(blobs)
    with pytest.raises(DataLossError) as raised:
        read(pack(document, {**blobs, digest: b"other"}))
    assert raised.value.found == "another SHA-256 than its name says"


@pytest.mark.parametrize("value", ["[]", "{}", '""', "1", "0.5", '{"":[]}', "null", '"ab"', "18446744073709551615"])
def test_reading_takes_memory_in_proportion_to_the_manifest(value):
    """Whatever its values are, the smallest included."""
    for count in (5_000, 10_000):
        manifest = ("[" + ",".join([value] * count) + "]\n").encode()
        data = pack(manifest, {})
        tracemalloc.start()
        try:
            with pytest.raises(HipGraphError):
                read(data)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 60 * len(manifest)


@pytest.mark.parametrize("made", ["folder", "fifo", "missing", "empty", "device"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path, made):
    path = tmp_path / "capture"
    if made == "folder":
        path.mkdir()
    elif made == "fifo":
        os.mkfifo(path)
    elif made == "empty":
        path.touch()
    elif made == "device":
        path.symlink_to("/dev/zero")
    with pytest.raises(NotFoundError if made == "missing" else InvalidArgumentError):
        Recording.load(path)


def test_a_file_that_cannot_be_saved_or_loaded_is_an_error_of_the_family_and_of_the_system(tmp_path):
    recording = everything()
    with pytest.raises(MissingFileError) as caught:
        recording.save(tmp_path / "no" / "step.hgcb")
    assert str(caught.value) == (
        "save: the file cannot be written\n"
        "  where: saving step.hgcb\n"
        f"  found: {tmp_path / 'no' / 'step.hgcb'}: No such file or directory"
    )
    for call in (recording.save, Recording.load):
        for path in (None, 0, b"step.hgcb", "a\0b", "\ud800", "", "."):
            with pytest.raises(InvalidArgumentError):
                call(path)


def test_every_changed_byte_is_refused(data):
    """One byte in every few, over headers, manifest, blobs and directory."""
    for at in [*range(200), *range(200, len(data), 97), *range(len(data) - 200, len(data))]:
        broken = bytearray(data)
        broken[at] ^= 1 + at % 255
        with pytest.raises(HipGraphError):
            read(bytes(broken))


def test_every_shorter_file_is_refused(data):
    for size in [*range(200), *range(200, len(data), 211), *range(len(data) - 100, len(data))]:
        with pytest.raises(HipGraphError):
            read(data[:size])


def test_a_failed_write_leaves_the_previous_file(tmp_path, monkeypatch):
    path = tmp_path / "a.hgcb"
    write_archive(path, b"old", {})
    old = path.read_bytes()
    monkeypatch.setattr("hipgraph_cb.capture.archive.MOST_ENTRIES", 0)
    with pytest.raises(ResourceExhaustedError):
        write_archive(path, b"new", {"0" * 64: b""})
    monkeypatch.setattr("pathlib.Path.replace", lambda self, target: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_archive(path, b"new", {})
    assert path.read_bytes() == old
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.hgcb"]
