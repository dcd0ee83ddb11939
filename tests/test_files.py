"""Files that users name: written as a whole, read only where they are plain files, refused in one family of errors."""

import errno
import os
import resource
import signal
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from hipgraph_cb import HipGraphError
from hipgraph_cb.errors import FileError, FilePermissionError, InvalidArgumentError, MissingFileError, NotFoundError
from hipgraph_cb.files import file_path, read_file, write_file, write_text


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_threads_that_write_one_file_at_once_leave_one_whole_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "shared"
    contents = [bytes([number]) * (1 << 16) for number in range(4)]

    def write(content):
        for _ in range(20):
            write_file(path, [content[:1], content[1:]], "save")
            assert path.read_bytes() in contents

    with ThreadPoolExecutor(len(contents)) as pool:
        list(pool.map(write, contents))
    assert names(tmp_path) == ["shared"]


def test_a_link_that_is_where_the_partial_file_goes_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda size: "guessed")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ".hipgraph_cb-guessed.part").symlink_to(victim)
    with pytest.raises(FileError) as caught:
        write_text(tmp_path / "new", "text", "save")
    assert caught.value.errno == errno.EEXIST
    assert victim.read_text() == "precious"
    assert names(tmp_path) == [".hipgraph_cb-guessed.part", "victim"]


def test_writing_through_a_link_writes_the_file_that_it_names_and_leaves_the_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("made")
    write_text(tmp_path / "link", "new", "save")
    write_text(tmp_path / "dangling", "made", "save")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert not (tmp_path / "made").is_symlink()
    assert (tmp_path / "made").read_text() == "made"


def test_a_replaced_file_keeps_its_permissions_and_a_new_one_follows_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        (tmp_path / "private").touch(0o600)
        (tmp_path / "open").touch()
        (tmp_path / "open").chmod(0o646)
        for name in ("private", "open", "new"):
            write_text(tmp_path / name, "text", "save")
    finally:
        os.umask(old)
    modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in names(tmp_path)}
    assert modes == {"private": 0o600, "open": 0o646, "new": 0o640}


def make_folder(path):
    path.mkdir()


@pytest.mark.parametrize("make", [make_folder, os.mkfifo, lambda path: path.symlink_to("/dev/full")])
def test_what_is_no_regular_file_is_neither_replaced_nor_read(tmp_path, make):
    path = tmp_path / "special"
    make(path)
    before = path.stat()
    with pytest.raises(InvalidArgumentError) as caught:
        write_text(path, "text", "save")
    assert str(caught.value) == (
        f"save: only a regular file is replaced\n  found: {path}\n  allowed: the name of a file, new or there"
    )
    with pytest.raises(InvalidArgumentError) as caught:
        read_file(path, "load")
    assert str(caught.value) == (
        f"load: not a regular file\n  found: {path}\n  allowed: a file, not a folder, pipe or device"
    )
    assert path.stat()[:3] == before[:3]
    assert names(tmp_path) == ["special"]


def test_a_file_beyond_the_limit_leaves_the_previous_one_and_says_what_the_system_said(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        with pytest.raises(FileError) as caught:
            write_file(path, [bytes(8192)], "save")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert isinstance(caught.value, OSError)
    assert isinstance(caught.value, HipGraphError)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))
    assert str(caught.value) == f"save: the file cannot be written\n  found: {path}: File too large"
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_an_interrupt_in_the_middle_leaves_the_previous_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def parts():
        yield b"begin"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(path, parts(), "save")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_missing_file_is_found_missing_in_every_words_of_it(tmp_path):
    path = tmp_path / "no" / "file"
    for call in (lambda: read_file(path, "load"), lambda: write_text(path, "", "load")):
        with pytest.raises(MissingFileError) as caught:
            call()
        assert isinstance(caught.value, FileNotFoundError)
        assert isinstance(caught.value, NotFoundError)
        assert isinstance(caught.value, LookupError)
        assert caught.value.errno == errno.ENOENT


def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)  # the super-user may write everything
    with pytest.raises(FilePermissionError) as caught:
        write_text(path, "new", "save")
    assert isinstance(caught.value, PermissionError)
    assert str(caught.value) == f"save: the file cannot be written\n  found: {path}: Permission denied"
    assert path.read_text() == "old"


@pytest.mark.parametrize("value", [None, 0, b"bytes", object(), 1.5])
def test_what_is_no_path_is_refused_by_its_type(value):
    with pytest.raises(InvalidArgumentError) as caught:
        file_path(value, "load")
    assert str(caught.value) == (
        f"load: not the path of a file\n  found: {type(value).__name__}\n  allowed: str or os.PathLike"
    )


@pytest.mark.parametrize(("name", "shown"), [("a\0b", "'a\\x00b'"), ("\ud800", "'\\ud800'")])
def test_a_name_that_no_file_can_have_is_refused(name, shown):
    with pytest.raises(InvalidArgumentError) as caught:
        file_path(name, "load")
    assert str(caught.value) == (
        f"load: no file has such a name\n  found: {shown}\n  allowed: text without NUL that the file system can encode"
    )


def test_a_name_as_long_as_the_file_system_takes_can_be_written(tmp_path):
    path = tmp_path / ("n" * 255)
    write_text(path, "text", "save")
    assert path.read_text() == "text"
    with pytest.raises(FileError) as caught:
        write_text(tmp_path / ("n" * 256), "text", "save")
    assert caught.value.errno == errno.ENAMETOOLONG
