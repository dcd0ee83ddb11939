"""What is refused, what is kept, and what is said."""

import logging
import stat
from pathlib import Path

import pytest

import hipgraph_cb
from hipgraph_cb.cli import main
from hipgraph_cb.compiler.toolchain import find_toolchain
from hipgraph_cb.errors import CompileError, InvalidArgumentError, MissingFileError, UnavailableError

SOURCE = 'extern "C" __global__ void f(int *out) { out[threadIdx.x] = 1; }\n'


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """The calls of the compiler, which a script in its place writes down."""
    real = find_toolchain().compiler
    log, script = tmp_path / "calls", tmp_path / "compiler"
    script.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {real} "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("HIPGRAPH_CB_COMPILER", str(script))
    return lambda: [line for line in log.read_text().splitlines() if " -E" not in line]


def test_a_refused_source_says_line_and_caret():
    with pytest.raises(CompileError) as caught:
        hipgraph_cb.compile('extern "C" __global__ void f(float *y) { y[0] = z; }', target="gfx942", language="hip")
    assert str(caught.value) == (
        "compile: the compiler refuses the source\n"
        "  where: source.hip:1:49\n"
        "  found: use of undeclared identifier 'z'\n"
        "source.hip:1:49: error: use of undeclared identifier 'z'\n"
        '    1 | extern "C" __global__ void f(float *y) { y[0] = z; }\n'
        "      |                                                 ^\n"
        "1 error generated when compiling for gfx942."
    )
    assert isinstance(caught.value, ValueError)


def test_the_same_source_is_compiled_once(calls, cache):
    first = hipgraph_cb.compile(SOURCE, target="gfx942", language="hip")
    assert hipgraph_cb.compile(SOURCE, target="gfx942", language="hip") == first
    assert len(calls()) == 1
    assert [path.read_bytes() for path in cache.iterdir()] == [first]


def test_another_target_option_or_header_is_compiled_again(calls, tmp_path):
    header, source = tmp_path / "size.h", tmp_path / "f.hip"
    header.write_text("#define SIZE 1\n")
    source.write_text('#include "size.h"\nextern "C" __global__ void f(int *out) { out[SIZE] = 1; }\n')
    built = {hipgraph_cb.compile(source, target="gfx942")}
    built.add(hipgraph_cb.compile(source, target="gfx90a"))
    built.add(hipgraph_cb.compile(source, target="gfx942", options=["-O0"]))
    built.add(hipgraph_cb.compile(source, target="gfx942", debug=False))
    header.write_text("#define SIZE 2\n")
    built.add(hipgraph_cb.compile(source, target="gfx942"))
    assert len(built) == len(calls()) == 5


def test_two_builds_are_the_same_bytes_wherever_they_are_made(monkeypatch):
    """The temporary folder of a build leaves no trace."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert hipgraph_cb.compile(SOURCE, target="gfx942", language="hip") == hipgraph_cb.compile(
        SOURCE, target="gfx942", language="hip"
    )


def test_a_cache_that_cannot_be_written_is_reported_and_nothing_else(monkeypatch, caplog):
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    with caplog.at_level(logging.WARNING, "hipgraph_cb.compiler"):
        assert hipgraph_cb.compile(SOURCE, target="gfx942", language="hip").startswith(b"\x7fELF")
    assert "the code object is not kept for the next time" in caplog.text


def test_warnings_are_logged(caplog):
    with caplog.at_level(logging.WARNING, "hipgraph_cb.compiler"):
        hipgraph_cb.compile("#warning mind the gap\n" + SOURCE, target="gfx942", language="hip")
    assert "source.hip:1:2: warning: mind the gap" in caplog.text


def test_a_machine_without_a_compiler_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("HIPGRAPH_CB_COMPILER", raising=False)
    with pytest.raises(UnavailableError) as caught:
        hipgraph_cb.compile(SOURCE, target="gfx942", language="hip")
    assert str(caught.value) == (
        "compile: no compiler for AMD GPUs was found\n"
        "  allowed: amdclang of ROCm, or clang 19 or newer with lld\n"
        "  next: install clang-19 and lld-19, or name a compiler in HIPGRAPH_CB_COMPILER"
    )
    monkeypatch.setenv("HIPGRAPH_CB_COMPILER", "no-such-compiler")
    with pytest.raises(UnavailableError, match="the compiler that HIPGRAPH_CB_COMPILER names is not there"):
        hipgraph_cb.compile(SOURCE, target="gfx942", language="hip")


def test_a_target_is_a_text_or_a_target():
    with pytest.raises(InvalidArgumentError) as caught:
        hipgraph_cb.compile(SOURCE, target=942, language="hip")
    assert str(caught.value) == "compile: no target\n  found: int\n  allowed: a text, or device.target"


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"source": "f.xyz"}, InvalidArgumentError, "compile: the name does not say the language\n  found: f.xyz"),
        ({"source": "no such file.hip"}, MissingFileError, "compile: the file cannot be read"),
        (
            {"source": SOURCE, "language": "fortran"},
            InvalidArgumentError,
            "compile: no such language\n  found: 'fortran'",
        ),
        ({"source": SOURCE, "language": "hip", "options": "-O3"}, InvalidArgumentError, "compile: options are not"),
        ({"source": SOURCE, "language": "hip", "options": [3]}, InvalidArgumentError, "compile: options are not"),
        ({"source": 7}, InvalidArgumentError, "compile: not the path of a file"),
        ({"source": SOURCE, "language": "hip", "options": ["--no-such-option"]}, CompileError, "compile: the compiler"),
    ],
)
def test_what_cannot_be_compiled_is_refused(tmp_path, monkeypatch, given, kind, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.xyz").write_text(SOURCE)
    with pytest.raises(kind) as caught:
        hipgraph_cb.compile(target="gfx942", **given)
    assert str(caught.value).startswith(message)


def test_the_command_line_writes_a_code_object(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.hip").write_text(SOURCE)
    assert main(["compile", "f.hip"]) == 0
    size = Path("f.gfx942.hsaco").stat().st_size
    assert capsys.readouterr().out == f"f.gfx942.hsaco: gfx942, {size} bytes\n"
    (tmp_path / "f.hip").write_text("nonsense")
    assert main(["compile", "f.hip", "-o", "g.hsaco"]) == 2
    assert "f.hip:1:1: error:" in capsys.readouterr().err
    assert not (tmp_path / "g.hsaco").exists()
