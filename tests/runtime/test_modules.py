"""Modules and functions."""

from __future__ import annotations

from pathlib import Path

CORPUS = Path(__file__).resolve().parents[1] / "fixtures" / "corpus" / "clang"


def test_an_image_is_checked(hip):
    assert hip.hipModuleLoadData(0)[0] == 1
    assert hip.hipModuleLoadData(b"not an ELF file at all" * 10)[0] == 200
    assert hip.hipModuleLoadData((CORPUS / "k_cl.gfx90a.hsaco").read_bytes())[0] == 209


def test_a_file_that_is_not_there(hip):
    assert hip.hipModuleLoad(b"/no/such/file.hsaco")[0] == 301


def test_a_file_is_loaded(hip):
    hip.done("hipModuleUnload", hip.done("hipModuleLoad", str(CORPUS / "k_cl.gfx942.hsaco").encode()))


def test_functions_are_found_by_name(hip, module):
    assert hip.hipModuleGetFunction(module, b"saxpy")[0] == 0
    assert hip.hipModuleGetFunction(module, b"missing")[0] == 500
    assert hip.hipModuleGetFunction(module, b"")[0] == 1
    assert hip.hipModuleGetFunction(0, b"saxpy")[0] == 400


def test_a_module_is_unloaded_once(hip):
    module = hip.done("hipModuleLoadData", (CORPUS / "k_cl.gfx942.hsaco").read_bytes())
    assert [hip.hipModuleUnload(each)[0] for each in (module, module, 0)] == [0, 500, 400]


def test_a_bundle_is_loaded_as_a_code_object_is(hip):
    from support.bundle import bundle_of

    image = bundle_of(gfx942=(CORPUS / "k_cl.gfx942.hsaco").read_bytes())
    hip.done("hipModuleUnload", hip.done("hipModuleLoadData", image))
