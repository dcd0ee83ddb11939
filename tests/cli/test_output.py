"""What the command line prints, for any names in the files and any output stream."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import elf
from support.child import HANGING
from support.containers import bundle
from support.fakes import FakeBuffer

from hipgraph_cb.cli import main
from hipgraph_cb.recording.command_buffer import CommandBuffer

HURTS = "k\x1b[2J\x1b]0;owned\x07\x9b31m\u202e"
SHOWN = r"k\x1b[2J\x1b]0;owned\x07\x9b31m\u202e"
CORPUS = Path(__file__).parents[1] / "fixtures" / "corpus"


def run(*words, **options):
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run(
        [sys.executable, "-m", "hipgraph_cb", *map(os.fspath, words)],
        check=False,
        stderr=subprocess.PIPE,
        timeout=HANGING,
        **options,
    )


def recorded(path, label):
    with CommandBuffer(label=label) as cb:
        cb.fill_buffer(FakeBuffer(64, label), 1, label=label)
        cb.copy_buffer(FakeBuffer(64, label), FakeBuffer(64, "other"))
    cb.recording.save(path)
    return path


def code_object(path, name):
    argument = elf.argument(0, 4, name=f"a{name}", type_name=f"int{name}")
    path.write_bytes(bytes(elf.code_object(elf.kernel(name, [argument]))))
    return path


@pytest.fixture
def hurting(tmp_path):
    return code_object(tmp_path / "k.hsaco", HURTS)


def printed(capsys, *words):
    main([os.fspath(word) for word in words])
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_names_of_kernels_and_arguments_are_printed_without_control_characters(hurting, capsys):
    text = printed(capsys, "inspect", hurting)
    assert f"kernel {SHOWN}\n" in text
    assert f"a{SHOWN}: int{SHOWN}" in text
    assert all(character.isprintable() or character == "\n" for character in text)


def test_a_name_with_a_line_feed_stays_on_its_line(tmp_path, capsys):
    file = code_object(tmp_path / "k.hsaco", "k\nkernel forged")
    assert "kernel k\\nkernel forged\n" in printed(capsys, "inspect", file)


@pytest.mark.parametrize("words", [(), ("--target", "gfx90a"), ("--disassemble", "absent")])
def test_names_in_a_bundle_and_in_errors_are_as_harmless(tmp_path, hurting, capsys, words):
    file = tmp_path / "b.bundle"
    file.write_bytes(bundle((f"hipv4-amdgcn-amd-amdhsa--gfx942{HURTS}", hurting.read_bytes()), (f"hip-{HURTS}", b"x")))
    for each in (file, hurting):
        text = printed(capsys, "inspect", *words, each)
        assert all(character.isprintable() or character == "\n" for character in text)


def test_labels_in_captures_are_as_harmless(tmp_path, capsys):
    bad, good = recorded(tmp_path / "bad.hgcb", HURTS + "\ud800"), recorded(tmp_path / "good.hgcb", "good")
    for words in (
        ("diff", bad, good),
        ("diff", good, bad),
        ("replay", bad),
        ("replay", "--verify", bad),
        *(("export", "--format", each, bad) for each in ("dot", "mermaid", "json")),
    ):
        text = printed(capsys, *words)
        assert text
        assert all(character.isprintable() or character == "\n" for character in text)


def test_the_name_of_a_file_is_as_harmless(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff\x1b[31m.hsaco"
    for words in ((b"inspect", path), (b"replay", path), (b"export", b"--format", b"dot", path), (b"diff", path, path)):
        result = subprocess.run(
            [sys.executable, "-m", "hipgraph_cb", *words], capture_output=True, check=False, timeout=HANGING
        )
        assert result.returncode == 2
        assert b"\\udcff\\x1b[31m.hsaco" in result.stderr
        assert b"\x1b" not in result.stdout + result.stderr
        assert b"Traceback" not in result.stderr


def test_a_usage_error_repeats_no_escape_codes(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["inspect", "a", "\x1b[31m"])
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith("error: unrecognized arguments: \\x1b[31m\n")


def test_an_ascii_terminal_gets_escapes_for_what_it_cannot_show(tmp_path):
    file = code_object(tmp_path / "k.hsaco", "κernel")
    result = run("inspect", file, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"kernel \\u03baernel\n" in result.stdout


@pytest.mark.parametrize("words", [("inspect",), ("inspect", "--json")])
def test_a_closed_standard_output_is_status_2_in_one_line(words):
    file = CORPUS / "clang/k_cl.gfx942.hsaco"
    result = run(*words, file, stdout=None, preexec_fn=lambda: os.close(1))
    assert result.returncode == 2
    assert result.stderr == b"hipgraph-cb inspect: standard output is closed\n"


def test_a_full_disk_behind_standard_output_is_status_2_in_one_line():
    with Path("/dev/full").open("wb") as full:
        result = run("inspect", CORPUS / "clang/k_cl.gfx942.hsaco", stdout=full)
    assert result.returncode == 2
    assert result.stderr == b"hipgraph-cb inspect: [Errno 28] No space left on device\n"


def test_a_closed_standard_error_hides_the_message_and_nothing_else():
    result = subprocess.run(
        [sys.executable, "-m", "hipgraph_cb", "inspect", "absent"],
        check=False,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: os.close(2),
        timeout=HANGING,
    )
    assert (result.returncode, result.stdout) == (2, b"")


def test_a_pipe_without_a_writer_does_not_hold_inspect_up(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    result = run("inspect", "--json", tmp_path / "fifo")
    assert result.returncode == 2
    assert json.loads(result.stdout)["error"] == "InvalidArgumentError"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "HIPGRAPH_CB_VIRTUAL_MEMORY",
            "99999999G",
            "hipgraph-cb replay: the memory of a virtual GPU cannot be mapped\n"
            "  found: N bytes: [Errno 12] Cannot allocate memory\n"
            "  next: ask for less: HIPGRAPH_CB_VIRTUAL_MEMORY=4G, or VirtualSettings(memory=...)\n",
        ),
        (
            "HIPGRAPH_CB_TRACE",
            "/absent/x",
            "hipgraph-cb replay: HIPGRAPH_CB_TRACE names a file that cannot be written\n"
            "  where: /absent/x\n"
            "  found: [Errno 2] No such file or directory: '/absent/x'\n",
        ),
    ],
)
def test_an_invalid_variable_is_reported_before_anything_runs(tmp_path, name, value, message):
    file = recorded(tmp_path / "step.hgcb", "step")
    result = run("replay", file, env={**os.environ, name: value})
    assert result.returncode == 2
    assert re.sub(r"\d{12,}", "N", result.stderr.decode()) == message
