"""The names and types of a kernel's parameters: those that pyelftools finds, and the layout that the source states."""

from __future__ import annotations

from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from hipgraph_cb.code_object.kernel_args import Parameter
from hipgraph_cb.code_object.verify import inspect

FOLDER = Path(__file__).parents[2] / "fixtures" / "debug_info"
SHAPES = sorted(FOLDER.glob("shapes.*.hsaco"))
EVERY = "_Z5everyIdEvPT_4Pair4ModebDv4_fyjRKiPvPS2_PPf4HalfDF16b6Vector4Bitscl"


def parameters(path: Path, kernel: str) -> tuple[Parameter, ...]:
    return inspect(path.read_bytes()).exports[kernel].parameters


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.hsaco")), ids=lambda path: path.name)
def test_the_names_of_parameters_are_those_that_pyelftools_finds(path: Path) -> None:
    with path.open("rb") as file:
        names = {}
        for unit in ELFFile(file).get_dwarf_info().iter_CUs():
            for entry in unit.iter_DIEs():
                if entry.tag == "DW_TAG_subprogram" and "DW_AT_low_pc" in entry.attributes:
                    attributes = entry.attributes
                    name = attributes.get("DW_AT_linkage_name", attributes["DW_AT_name"]).value.decode()
                    names[name] = [
                        child.attributes["DW_AT_name"].value.decode()
                        for child in entry.iter_children()
                        if child.tag == "DW_TAG_formal_parameter"
                    ]
    exports = inspect(path.read_bytes()).exports
    assert {name: [row.name for row in export.parameters] for name, export in exports.items()} == names


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.name)
def test_every_kind_of_type_has_the_name_that_kernel_metadata_would_give_it(path: Path) -> None:
    types = {row.name: row.type_name for row in parameters(path, EVERY)}
    assert types == {
        "y": "double*",
        "p": "struct Pair",
        "m": "unsigned int",
        "b": "bool",
        "v": "float4",
        "k": "unsigned long long",
        "q": "unsigned int",
        "r": "const int&",
        "z": "void*",
        "pp": "struct Pair*",
        "ff": "float**",
        "h": "struct Half",
        "bf": "__bf16",
        "vector": "struct Vector",
        "bits": None,  # a field of less than a byte has no offset
        "c": "char",
        "l": "long",
    }


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.name)
def test_a_signature_has_the_fields_of_structures_below_them(path: Path) -> None:
    layout = inspect(path.read_bytes()).exports["store_pair"].layout
    assert layout.signature() == (
        "signature of store_pair:\n"
        "  out: float* (pointer, 8 bytes at offset 0)\n"
        "  p: struct Pair (value, 40 bytes at offset 8)\n"
        "    .scale: float at offset 0\n"
        "    .n: int at offset 4\n"
        "    .inner.a: short at offset 8\n"
        "    .inner.b: double at offset 16\n"
        "    .w: float[3] at offset 24"
    )


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.name)
def test_bases_and_fields_without_a_name_give_their_fields_to_the_whole(path: Path) -> None:
    (vector,) = (row.structure for row in parameters(path, EVERY) if row.name == "vector")
    assert vector is not None
    assert [(field.name, field.offset) for field in vector.fields] == [
        ("first", 0),
        ("data", 16),
        ("x", 16),
        ("y", 20),
        ("z", 24),
        ("w", 28),
    ]
    assert [vector.fields[place].name for place in vector.positions] == ["first", "data"]


def test_a_type_that_opencl_metadata_names_as_the_source_does_is_resolved() -> None:
    layout = inspect((FOLDER / "named.gfx942.hsaco").read_bytes()).exports["add"].layout
    assert layout.signature() == (
        "signature of add:\n"
        "  y: float* (pointer, 8 bytes at offset 0)\n"
        "  a: float (value, 4 bytes at offset 8)\n"
        "  p: struct pair (value, 8 bytes at offset 12)\n"
        "    .n: int at offset 0\n"
        "    .x: float at offset 4\n"
        "  n: uint (value, 4 bytes at offset 20)"
    )


def test_without_debug_information_the_layout_is_that_of_the_metadata() -> None:
    data = (FOLDER.parent / "corpus" / "clang" / "h_hip.gfx942.hsaco").read_bytes()
    for export in inspect(data).exports.values():
        assert export.layout is export.stated_layout


def test_debug_information_is_not_read_before_parameters_are_looked_at() -> None:
    executable = inspect(SHAPES[0].read_bytes())
    export = executable.exports["scale"]
    assert export.kernarg_size == 24
    assert "_units" not in vars(executable.code_object.debug_info)
    assert export.parameters[2].label == "a: float"
    assert "_units" in vars(executable.code_object.debug_info)
