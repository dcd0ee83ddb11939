"""`hipgraph-cb inspect` says what is in a code object; expected values come from llvm-readelf and the sources."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import elf
from support.child import HANGING
from support.containers import Export, wrapped
from support.tools import run_tool

from hipgraph_cb.cli import main

CORPUS = Path(__file__).parents[1] / "fixtures" / "corpus"


def test_every_kernel_is_listed_with_its_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--json", str(CORPUS / "clang/k_cl.gfx942.hsaco")]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["sound"] is True
    assert facts["target"] == "gfx942"
    assert facts["code_object_version"] == 5
    assert len(facts["kernels"]) == 19
    saxpy = facts["kernels"]["saxpy"]
    assert saxpy["parameters"] == [
        {"label": "arg0: float*", "offset": 0, "size": 8, "kind": "pointer", "access": None, "flags": [], "fields": []},
        {"label": "arg1: float*", "offset": 8, "size": 8, "kind": "pointer", "access": None, "flags": [], "fields": []},
        {"label": "arg2: float", "offset": 16, "size": 4, "kind": "value", "access": None, "flags": [], "fields": []},
        {"label": "arg3: uint", "offset": 20, "size": 4, "kind": "value", "access": None, "flags": [], "fields": []},
    ]
    assert saxpy["hidden"][0] == {"kind": "hidden_block_count_x", "offset": 24, "size": 4}
    assert facts["kernels"]["reduce_lds"]["required_workgroup_size"] == [256, 1, 1]
    assert facts["kernels"]["reduce_lds"]["lds"] == 1024


def test_arguments_without_names_and_types_are_shown_as_untyped(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(CORPUS / "clang/h_hip.gfx942.hsaco")]) == 0
    text = capsys.readouterr().out
    assert "kernel h_saxpy\n" in text
    assert "     0  arg0: pointer\n     8  arg1: pointer\n    16  arg2: untyped 4 bytes\n" in text


def test_the_registers_of_a_kernel_are_those_that_llvm_reads(capsys: pytest.CaptureFixture[str]) -> None:
    file = CORPUS / "clang/h_hip.gfx942.hsaco"
    notes = run_tool("llvm-readobj-19", "--notes", str(file))
    expected = [
        {
            key: int(re.findall(rf"\.{name}: +(\d+)", part)[0])
            for key, name in (
                ("vgprs", "vgpr_count"),
                ("sgprs", "sgpr_count"),
                ("agprs", "agpr_count"),
                ("spilled_vgprs", "vgpr_spill_count"),
                ("spilled_sgprs", "sgpr_spill_count"),
            )
        }
        for part in notes.split("- .agpr_count:")[1:]
        for part in ["  .agpr_count:" + part]
    ]
    assert main(["inspect", "--json", str(file)]) == 0
    kernels = json.loads(capsys.readouterr().out)["kernels"]
    assert [kernel["registers"] for kernel in kernels.values()] == expected


def test_what_a_launch_takes_is_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(CORPUS / "clang/h_hip.gfx942.hsaco")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[lines.index("kernel h_red") + 1]
        == "  <= 1024 items, wave64, 6 VGPRs, 18 SGPRs, LDS 1024, kernarg 16 bytes"
    )


def test_sizes_that_a_kernel_states_differently_are_listed_and_the_file_is_sound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, text = tmp_path / "a.hsaco", "fixed LDS size: 0 in the note, 64 in the descriptor; the larger holds"
    file.write_bytes(elf.code_object(elf.kernel("add"), descriptors={"add": {"group": 64}}))
    assert main(["inspect", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index("kernel add") + 2] == f"  {text}"
    assert main(["inspect", "--json", str(file)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["sound"], facts["kernels"]["add"]["disagreements"]) == (True, [text])


def test_a_reader_that_has_seen_enough_gets_no_traceback() -> None:
    command = f"{sys.executable} -m hipgraph_cb inspect --json {CORPUS / 'clang/k_cl.gfx942.hsaco'} | head -c 10"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=HANGING, check=True)
    assert (done.stdout, done.stderr) == ('{\n  "file"', "")


def test_a_truncated_file_is_reported_with_its_offset_and_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cut.hsaco"
    file.write_bytes((CORPUS / "clang/asm.gfx942.hsaco").read_bytes()[:100])
    assert main(["inspect", str(file)]) == 1
    assert capsys.readouterr().out == (
        f"{file}: the program header table is past the end of the file\n"
        "  where: file offset 64\n"
        "  found: 448 bytes at offset 64\n"
        "  allowed: a range inside the file's 100 bytes\n"
        "  next: the file is truncated; build or copy it again\n"
    )


def test_a_wrong_target_is_reported_with_both_targets(capsys: pytest.CaptureFixture[str]) -> None:
    file = CORPUS / "clang/k_cl.gfx1100.hsaco"
    assert main(["inspect", "--target", "gfx942", str(file)]) == 1
    assert capsys.readouterr().out == (
        f"{file}: the code object was built for another device\n"
        "  found: gfx1100 (processor differs)\n"
        "  allowed: code that runs on gfx942\n"
        "  next: compile with -mcpu=gfx942\n"
    )


def test_a_missing_file_is_status_2_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "no-such.hsaco"]) == 2
    captured = capsys.readouterr()
    assert captured.err == (
        "hipgraph-cb inspect: load: the file cannot be read\n  found: no-such.hsaco: No such file or directory\n"
    )
    assert captured.out == ""


@pytest.mark.parametrize("processor", ["gfx90a", "gfx942", "gfx1100", "gfx1201"])
def test_the_disassembly_of_a_kernel_is_what_llvm_prints(processor: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = CORPUS / f"clang/k_cl.{processor}.hsaco"
    listing = run_tool("llvm-objdump-19", "-d", f"--mcpu={processor}", "--disassemble-symbols=saxpy", str(file))
    expected = [line.split("//")[0].split() for line in listing.splitlines() if "//" in line]
    assert main(["inspect", "--json", "--disassemble", "saxpy", str(file)]) == 0
    rows = json.loads(capsys.readouterr().out)["instructions"]
    assert len(rows) > 20
    padding = expected[len(rows) :]  # llvm-objdump goes on to the next symbol
    assert all(words[0] in ("s_nop", "s_code_end") for words in padding)
    assert [row["text"].split()[0] for row in rows] == [
        re.sub("_e(32|64)$", "", words[0]) for words in expected[: len(rows)]
    ]
    assert rows[0] == {"offset": 0, "bytes": rows[0]["bytes"], "text": " ".join(expected[0]), "source": []}


DEBUG = CORPUS.parent / "debug_info"


def test_the_disassembly_names_the_source_line_of_each_instruction(capsys: pytest.CaptureFixture[str]) -> None:
    file = DEBUG / "shapes.dwarf5.gfx942.hsaco"
    assert main(["inspect", "--json", "--disassemble", "scale", str(file)]) == 0
    rows = json.loads(capsys.readouterr().out)["instructions"]
    symbol = run_tool("llvm-nm-19", str(file)).split("scale\n")[0].splitlines()[-1]
    places = [f"{int(symbol.split()[0], 16) + row['offset']:#x}" for row in rows]
    answers = run_tool("llvm-symbolizer-19", "-e", str(file), "--output-style=JSON", *places)
    expected = [
        [{"file": each["FileName"], "line": each["Line"], "function": each["FunctionName"]} for each in found["Symbol"]]
        for found in json.loads(answers)
    ]
    names = [[frame | {"function": frame["function"].partition("(")[0]} for frame in frames] for frames in expected]
    assert [row["source"] for row in rows] == names
    assert main(["inspect", "--disassemble", "scale", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    inlined = lines.index("; /src/src/shapes.hip:45 in at")
    assert lines[inlined + 1 : inlined + 3] == [
        ";   inlined at /src/src/shapes.hip:49 in twice",
        ";   inlined at /src/src/shapes.hip:55 in scale",
    ]


def test_names_types_and_fields_of_parameters_come_from_debug_information(capsys: pytest.CaptureFixture[str]) -> None:
    file = DEBUG / "shapes.dwarf5.gfx942.hsaco"
    assert main(["inspect", "--json", str(file)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["debug_info"] == {"present": True, "problem": None}
    assert [row["label"] for row in facts["kernels"]["scale"]["parameters"]] == [
        "y: float*",
        "x: const float*",
        "a: float",
        "n: int",
    ]
    assert facts["kernels"]["store_pair"]["parameters"][1]["fields"][2] == {
        "name": "inner.a",
        "type": "short",
        "offset": 8,
        "size": 2,
    }


def test_a_kernel_that_does_not_exist_names_those_that_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--disassemble", "nope", str(CORPUS / "clang/asm.gfx942.hsaco")]) == 2
    assert capsys.readouterr().err == (
        "hipgraph-cb inspect: the code object has no kernel 'nope'\n  found: 'nope'\n  allowed: copy4\n"
    )


def test_a_bundle_is_shown_as_a_tree_with_every_code_object(capsys: pytest.CaptureFixture[str]) -> None:
    file = CORPUS / "clang/h_hip.bundle"
    assert main(["inspect", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        f"{file}: offload bundle",
        "  entry 0 (host-x86_64-unknown-linux--): host code, 0 bytes",
        "  entry 1 (hipv4-amdgcn-amd-amdhsa--gfx1100): for gfx1100, 5344 bytes",
        "  entry 2 (hipv4-amdgcn-amd-amdhsa--gfx90a): for gfx90a, 5920 bytes",
    ]
    assert [line for line in lines if line.startswith("kernel ")] == 2 * ["kernel h_saxpy", "kernel h_red"]


def test_the_json_of_a_bundle_lists_its_code_objects(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--json", str(CORPUS / "clang/h_hip.cbundle")]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["container"]["kind"] == "offload bundle"
    assert [row["target"] for row in facts["container"]["entries"]] == [None, "gfx1100", "gfx90a"]
    assert [row["target"] for row in facts["code_objects"]] == ["gfx1100", "gfx90a"]


def test_the_target_chooses_the_code_object_of_a_bundle(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--json", "--target", "gfx90a:xnack-", str(CORPUS / "clang/h_hip.bundle")]) == 0
    assert json.loads(capsys.readouterr().out)["target"] == "gfx90a"


def test_a_wrapper_shows_its_code_object(capsys: pytest.CaptureFixture[str]) -> None:
    file = CORPUS / "iree/gfx942/ew/ew.amd1.fb"
    assert main(["inspect", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        f"{file}: AMD1 wrapper",
        "  code object: for gfx942, 7464 bytes",
    ]


def test_several_targets_are_each_answered_with_what_would_help(capsys: pytest.CaptureFixture[str]) -> None:
    file = CORPUS / "clang/asm.gfx942.hsaco"
    assert main(["inspect", "--target", "gfx942:xnack-", "--target", "gfx950", str(file)]) == 1
    text = capsys.readouterr().out
    assert text.endswith(
        "target gfx942:xnack-: loads\n"
        "target gfx950: does not load\n"
        "  the code object was built for another device\n"
        "    found: gfx942 (processor differs)\n"
        "    allowed: code that runs on gfx950\n"
        "    next: compile with -mcpu=gfx950\n"
    )


def test_the_formats_of_a_file_are_printed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    file = CORPUS / "clang/k_cl.gfx942.hsaco"
    assert main(["inspect", "--formats", "--target", "gfx942:xnack-", str(file)]) == 0
    assert capsys.readouterr().out == (
        f"{file}: code object, {file.stat().st_size} bytes\n  format gfx942\ntarget gfx942:xnack-: loads\n"
    )
    assert main(["inspect", "--formats", "--json", "--target", "gfx1100", str(file)]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert facts["formats"] == ["gfx942"]
    assert facts["targets"] == {
        "gfx1100": {"loads": False, "reason": "gfx942 (processor differs) does not run on gfx1100"}
    }


def test_what_a_wrapper_says_about_its_kernels_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = elf.code_object(elf.kernel("scale", [elf.pointer(0), elf.argument(8, 4)]))
    debug = ("scale it", ("a.mlir", 12), [])
    exports = [Export("scale", (8, 4, 2), 1, (3,), module=1, debug=debug)]
    file = tmp_path / "wrapped.fb"
    file.write_bytes(wrapped(b"HIP1", exports, [code, code], sources={"a.mlir": b"module {}"}))
    assert main(["inspect", "--json", str(file)]) == 0
    facts = json.loads(capsys.readouterr().out)
    kernel = facts["kernels"]["scale"]
    assert (kernel["origin"], kernel["module"], kernel["required_workgroup_size"]) == ("a.mlir:12", 1, [8, 4, 2])
    assert kernel["parameters"][0]["flags"] == ["read-only", "indirect"]
    assert facts["source_files"] == {"a.mlir": 9}
    assert main(["inspect", str(file)]) == 0
    text = capsys.readouterr().out
    assert "kernel scale\n  workgroup 8x4x2, wave64, kernarg 12 bytes\n  from a.mlir:12\n" in text
    assert "     0  arg0: pointer, read-only, indirect\n     8  arg1: untyped 4 bytes\n" in text
    assert text.endswith("source file a.mlir: 9 bytes\n")
