"""Which code object of a container is loaded, and what is said of the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.containers import HOST_ENTRY, Export, bundle, compressed, hip_entry, host_file, wrapped
from support.elf import header

from hipgraph_cb.code_object.container import read_container
from hipgraph_cb.code_object.selection import choose
from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.errors import IncompatibleError, InvalidArgumentError, NotFoundError

XNACK_ON, XNACK_OFF = 0x300, 0x200
GFX90A, GFX942, GFX1100 = 0x3F, 0x4C, 0x41
ANY = 0x500


def elf(flags: int, abi_version: int = 3) -> bytes:
    return header(flags=flags, abi_version=abi_version)


def chosen(data: bytes, target: str) -> str:
    return choose(data, TargetId.parse(target)).entry.path


ONE_OF_EACH = bundle((HOST_ENTRY, b""), (hip_entry("gfx90a"), elf(GFX90A | ANY)), (hip_entry("gfx1100"), elf(GFX1100)))


def test_the_entry_of_the_device_is_chosen_and_the_others_are_explained() -> None:
    choice = choose(ONE_OF_EACH, TargetId.parse("gfx1100"))
    assert choice.entry.path == "entry 2 (hipv4-amdgcn-amd-amdhsa--gfx1100)"
    assert [(entry.path, why) for entry, why in choice.passed_over] == [
        ("entry 0 (host-x86_64-unknown-linux--)", "host code"),
        ("entry 1 (hipv4-amdgcn-amd-amdhsa--gfx90a)", "built for gfx90a (processor differs)"),
    ]


def test_no_entry_for_the_device_lists_them_all() -> None:
    with pytest.raises(IncompatibleError) as caught:
        choose(ONE_OF_EACH, TargetId.parse("gfx942"))
    assert str(caught.value) == (
        "no code object in the offload bundle runs on the device\n"
        "  found: gfx90a, gfx1100\n"
        "  allowed: code that runs on gfx942\n"
        "  next: compile with --offload-arch=gfx942\n"
        "  entry 0 (host-x86_64-unknown-linux--): host code\n"
        "  entry 1 (hipv4-amdgcn-amd-amdhsa--gfx90a): built for gfx90a (processor differs)\n"
        "  entry 2 (hipv4-amdgcn-amd-amdhsa--gfx1100): built for gfx1100 (processor differs)"
    )


def test_several_code_objects_and_no_target_to_choose_by() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        choose(ONE_OF_EACH)
    assert str(caught.value) == (
        "the offload bundle holds several code objects\n"
        "  found: gfx90a, gfx1100\n"
        "  allowed: one, or a target to choose by\n"
        "  next: name the target\n"
        "  entry 0 (host-x86_64-unknown-linux--): host code\n"
        "  entry 1 (hipv4-amdgcn-amd-amdhsa--gfx90a): code for gfx90a\n"
        "  entry 2 (hipv4-amdgcn-amd-amdhsa--gfx1100): code for gfx1100"
    )


def test_the_only_code_object_needs_no_target() -> None:
    data = bundle((HOST_ENTRY, b""), (hip_entry("gfx90a"), elf(GFX90A | ANY)))
    assert choose(data).entry.path == "entry 1 (hipv4-amdgcn-amd-amdhsa--gfx90a)"


def test_an_exact_processor_goes_before_a_generic_one() -> None:
    generic = elf(0x5F | ANY | 1 << 24, abi_version=4)
    data = bundle((hip_entry("gfx9-4-generic"), generic), (hip_entry("gfx942"), elf(GFX942 | ANY)))
    assert chosen(data, "gfx942") == "entry 1 (hipv4-amdgcn-amd-amdhsa--gfx942)"
    assert chosen(data, "gfx950") == "entry 0 (hipv4-amdgcn-amd-amdhsa--gfx9-4-generic)"


def test_stated_features_go_before_open_ones() -> None:
    data = bundle(
        (hip_entry("gfx90a"), elf(GFX90A | ANY)),
        (hip_entry("gfx90a:xnack+"), elf(GFX90A | 0x400 | XNACK_ON)),
        (hip_entry("gfx90a:xnack-"), elf(GFX90A | 0x400 | XNACK_OFF)),
    )
    assert chosen(data, "gfx90a:xnack-") == "entry 2 (hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-)"
    assert chosen(data, "gfx90a:xnack+") == "entry 1 (hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+)"
    assert chosen(data, "gfx90a") == "entry 0 (hipv4-amdgcn-amd-amdhsa--gfx90a)"


def test_the_first_of_equals_is_chosen() -> None:
    data = bundle((hip_entry("gfx1100"), elf(GFX1100)), (hip_entry("gfx1100"), elf(GFX1100)))
    choice = choose(data, TargetId.parse("gfx1100"))
    assert choice.entry.path.startswith("entry 0")
    assert [why for _, why in choice.passed_over] == ["gfx1100 fits better"]


def test_an_entry_whose_id_contradicts_its_elf_flags_is_passed_over() -> None:
    data = bundle((hip_entry("gfx942"), elf(GFX90A | ANY)), (hip_entry("gfx942"), elf(GFX942 | ANY)))
    choice = choose(data, TargetId.parse("gfx942"))
    assert choice.entry.path.startswith("entry 1")
    assert [why for _, why in choice.passed_over] == ["the stated target is not that of the ELF flags"]


def test_a_faulty_entry_does_not_make_the_others_unusable() -> None:
    data = bundle((hip_entry("gfx942"), b"rubbish"), (hip_entry("gfx1100"), elf(GFX1100)))
    assert chosen(data, "gfx1100").startswith("entry 1")


def test_a_bundle_of_host_code_only() -> None:
    with pytest.raises(NotFoundError) as caught:
        choose(bundle((HOST_ENTRY, b"")))
    assert str(caught.value) == (
        "the offload bundle holds no AMD GPU code object\n  entry 0 (host-x86_64-unknown-linux--): host code"
    )


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (elf(GFX1100), "code object"),
        (ONE_OF_EACH, "offload bundle"),
        (compressed(ONE_OF_EACH), "offload bundle"),
        (host_file(ONE_OF_EACH), "fat binary"),
        (wrapped(b"AMD1", [], [elf(GFX1100)]), "AMD1 wrapper"),
        (wrapped(b"HIP1", [], [ONE_OF_EACH]), "HIP1 wrapper of an offload bundle"),
    ],
)
def test_every_form_of_file_is_recognised_by_its_bytes(data: bytes, kind: str) -> None:
    container = read_container(data)
    assert container.kind == kind
    assert "gfx1100" in [str(entry.target) for entry in container.entries]


def test_the_target_of_a_wrapper_is_that_of_its_elf_and_not_the_isa_it_states() -> None:
    data = wrapped(b"AMD1", [], [elf(GFX942 | 0xC00 | XNACK_OFF)], isa="gfx1100")
    assert str(choose(data).entry.target) == "gfx942:sramecc+:xnack-"


def test_the_entries_of_several_modules_say_which() -> None:
    container = read_container(wrapped(b"HIP1", [], [elf(GFX1100), elf(GFX942)]))
    assert [entry.path for entry in container.entries] == ["modules[0]: code object", "modules[1]: code object"]
    assert [len(module.entries) for module in container.modules] == [1, 1]


def test_a_wrapper_in_a_wrapper_is_refused() -> None:
    inner = wrapped(b"AMD1", [Export("k.kd")], [elf(GFX1100)])
    with pytest.raises(InvalidArgumentError) as caught:
        read_container(wrapped(b"AMD1", [], [inner]))
    assert str(caught.value) == "a wrapper holds another wrapper\n  where: modules[0]\n  allowed: a code object"


def test_the_bundle_made_by_clang_is_chosen_from_by_target() -> None:
    data = (Path(__file__).parents[1] / "fixtures/corpus/clang/h_hip.bundle").read_bytes()
    assert chosen(data, "gfx90a:xnack-:sramecc+") == "entry 2 (hipv4-amdgcn-amd-amdhsa--gfx90a)"
