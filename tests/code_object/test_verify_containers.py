"""`verify` and `inspect` over wrappers, bundles and fat binaries."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import pytest
from support.containers import Export, bundle, compressed, hip_entry, host_file, wrapped
from support.elf import argument, code_object, document, kernel, pointer

from hipgraph_cb.code_object.kernel_args import ParameterKind
from hipgraph_cb.code_object.verify import inspect, verify
from hipgraph_cb.code_object.wrapper import ExportDebug
from hipgraph_cb.errors import HipGraphError, IncompatibleError, InvalidArgumentError, UnimplementedError

CORPUS = Path(__file__).parents[1] / "fixtures" / "corpus"
SCALE = kernel("scale", [pointer(0), argument(8, 4), argument(12, 4)], max_flat_workgroup_size=256)
OBJECT = code_object(SCALE)
FITTING = {"bindings": 1, "constants": 2}


def refusal(export: Export, data: bytes = OBJECT) -> str:
    executable = inspect(wrapped(b"AMD1", [export], [data]))
    assert not executable.exports
    (error,) = executable.refused.values()
    return str(error)


@pytest.mark.parametrize(
    "data",
    [
        bundle((hip_entry("gfx942"), OBJECT)),
        compressed(bundle((hip_entry("gfx942"), OBJECT))),
        host_file(bundle((hip_entry("gfx942"), OBJECT))),
        wrapped(b"AMD1", [Export("scale.kd", **FITTING)], [OBJECT]),
        wrapped(b"HIP1", [Export("scale", **FITTING)], [bundle((hip_entry("gfx942"), OBJECT))]),
    ],
)
def test_the_code_object_inside_is_what_is_verified(data: bytes) -> None:
    executable = verify(data, "gfx942")
    assert executable.data == OBJECT
    assert list(executable.exports) == ["scale"]
    assert executable.container is not None


def test_a_code_object_itself_has_no_container() -> None:
    assert verify(OBJECT, "gfx942").container is None


def test_a_container_and_its_code_object_have_the_same_content() -> None:
    assert verify(bundle((hip_entry("gfx942"), OBJECT)), "gfx942") == verify(OBJECT, "gfx942")


@pytest.mark.parametrize("form", ["raw", "bundle", "wrapper"])
def test_one_code_object_for_another_device_is_refused_in_the_same_words(form: str) -> None:
    data = {
        "raw": OBJECT,
        "bundle": bundle((hip_entry("gfx942"), OBJECT)),
        "wrapper": wrapped(b"AMD1", [Export("scale.kd", **FITTING)], [OBJECT]),
    }[form]
    with pytest.raises(IncompatibleError) as caught:
        verify(data, "gfx1100")
    with pytest.raises(IncompatibleError) as expected:
        verify(OBJECT, "gfx1100")
    assert str(caught.value) == str(expected.value)


def test_a_fault_in_an_entry_names_the_entry() -> None:
    data = bundle((hip_entry("gfx942"), OBJECT[:64]))
    with pytest.raises(HipGraphError) as caught:
        verify(data, "gfx942")
    assert str(caught.value.where).startswith("entry 0 (hipv4-amdgcn-amd-amdhsa--gfx942), ")


def test_a_wrapper_says_which_kernels_are_exported_and_in_which_order() -> None:
    rows = [kernel("first"), kernel("second"), kernel("third")]
    data = wrapped(b"AMD1", [Export("third.kd"), Export("first.kd")], [code_object(*rows)])
    assert list(inspect(data).exports) == ["third", "first"]


def test_the_workgroup_size_of_a_wrapper_is_required() -> None:
    data = wrapped(b"AMD1", [Export("scale.kd", (8, 4, 2), **FITTING)], [OBJECT])
    assert inspect(data).exports["scale"].required_workgroup_size == (8, 4, 2)


def test_a_wrapper_may_declare_more_than_the_kernel_takes() -> None:
    export = inspect(wrapped(b"AMD1", [Export("scale.kd", bindings=1, constants=4)], [OBJECT])).exports["scale"]
    rows = [(row.label, row.offset, row.size) for row in export.parameters]
    assert rows == [
        ("arg0: pointer", 0, 8),
        ("arg1: untyped 4 bytes", 8, 4),
        ("arg2: untyped 4 bytes", 12, 4),
        ("constant2: untyped 4 bytes", 16, 4),
        ("constant3: untyped 4 bytes", 20, 4),
    ]
    assert (export.kernarg_size, export.layout.offsets) == (24, (0, 8, 12))


def test_what_a_wrapper_declares_and_the_kernel_dropped_is_given_all_the_same() -> None:
    unused = code_object(kernel("scale", [pointer(8), argument(16, 8), argument(28, 4)]))
    export = inspect(wrapped(b"AMD1", [Export("scale.kd", bindings=2, constants=4)], [unused])).exports["scale"]
    first, second = object(), object()
    packed = export.layout.pack_hal([first, second], [1, 2, 3, 4])
    assert packed.pointers == ((0, first), (8, second))
    assert packed.block == struct.pack("<QQIIII", 0, 0, 1, 2, 3, 4)
    assert (export.layout.binding_count, export.layout.constant_count) == (2, 4)


@pytest.mark.parametrize(
    ("arguments", "found", "allowed"),
    [
        ([argument(0, 4), pointer(8)], "arg0: untyped 4 bytes at offset 0", "bytes 8 to 16, at a multiple of 4"),
        ([pointer(8)], "arg0: pointer at offset 8", "bytes 0 to 8, at a multiple of 8"),
        ([pointer(0), argument(16, 4)], "arg1: untyped 4 bytes at offset 16", "bytes 8 to 16, at a multiple of 4"),
    ],
)
def test_an_argument_elsewhere_than_the_wrapper_puts_it_is_refused(
    arguments: list[dict[str, object]], found: str, allowed: str
) -> None:
    message = refusal(Export("scale.kd", bindings=1, constants=2), code_object(kernel("scale", arguments)))
    assert message.startswith(
        "the kernel has an argument elsewhere than its wrapper says\n  where: exports[0] of the wrapper\n"
        f"  found: {found}\n  allowed: {allowed}\nsignature of scale:\n"
    )


def test_constants_over_the_hidden_arguments_are_refused() -> None:
    hidden = argument(8, 4, "hidden_block_count_x")
    message = refusal(Export("scale.kd", bindings=1, constants=1), code_object(kernel("scale", [pointer(0), hidden])))
    assert message.startswith(
        "the wrapper's arguments overlap the hidden ones\n  where: exports[0] of the wrapper\n"
        "  found: 12 bytes of bindings and constants\n"
        "  allowed: at most 8, where the hidden arguments of the kernel begin\n"
    )


def test_more_constants_than_the_wrapper_has_bytes_are_refused() -> None:
    data = wrapped(b"AMD1", [Export("scale.kd", bindings=1, constants=65535)], [OBJECT])
    with pytest.raises(InvalidArgumentError) as caught:
        inspect(data)
    assert str(caught.value) == (
        f"the wrapper lists more constants than it has bytes\n  found: 65535 constants\n  allowed: at most {len(data)}"
    )


def test_a_binding_that_the_wrapper_calls_read_only_is_read_only() -> None:
    export = inspect(wrapped(b"AMD1", [Export("scale.kd", bindings=(3,), constants=2)], [OBJECT])).exports["scale"]
    (row,) = (row for row in export.parameters if row.kind is ParameterKind.POINTER)
    assert (row.access, row.flags) == ("read_only", 3)
    assert "  arg0: pointer (pointer, 8 bytes at offset 0, read-only, indirect)\n" in export.layout.signature()


def test_a_binding_that_is_only_read_and_only_written_is_refused() -> None:
    writing = kernel("scale", [pointer(0, access="write_only")])
    assert refusal(Export("scale.kd", bindings=(1,)), code_object(writing)) == (
        "the wrapper says that a binding is only read, and the kernel only writes it\n"
        "  where: exports[0] of the wrapper\n"
        "  found: arg0: pointer"
    )


def test_the_signature_names_the_place_in_the_source() -> None:
    debug = ("scale it", ("a.mlir", 12), [])
    export = inspect(wrapped(b"AMD1", [Export("scale.kd", **FITTING, debug=debug)], [OBJECT])).exports["scale"]
    assert export.layout.signature().startswith("signature of scale (a.mlir:12):\n")
    assert export.wrapped is not None
    assert export.wrapped.debug == ExportDebug(*debug[:2], ())


def test_several_modules_of_a_hip1_wrapper_are_one_executable() -> None:
    other = code_object(kernel("halve", [pointer(0)]))
    exports = [Export("halve", bindings=1, module=1), Export("scale", **FITTING)]
    executable = verify(wrapped(b"HIP1", exports, [OBJECT, other]), "gfx942")
    assert [(name, export.module) for name, export in executable.exports.items()] == [("halve", 1), ("scale", 0)]
    assert [module.data for module in executable.modules] == [OBJECT, other]


def test_every_module_has_to_run_on_the_device() -> None:
    rows = kernel("halve", [pointer(0)])
    other = code_object(rows, root=document(rows, target="amdgcn-amd-amdhsa--gfx1100"), flags=0x41)
    with pytest.raises(IncompatibleError, match="found: gfx1100"):
        verify(wrapped(b"HIP1", [Export("scale", **FITTING)], [OBJECT, other]), "gfx942")


@pytest.mark.parametrize(("identifier", "modules"), [(b"AMD1", []), (b"AMD1", [OBJECT, OBJECT]), (b"HIP1", [])])
def test_another_number_of_modules_is_refused(identifier: bytes, modules: list[bytes]) -> None:
    with pytest.raises(UnimplementedError) as caught:
        inspect(wrapped(identifier, [], modules))
    name, allowed = identifier.decode(), "1 module" if identifier == b"AMD1" else "1 module or more"
    assert str(caught.value) == (
        f"an {name} wrapper with {len(modules)} modules is not supported\n"
        f"  found: {len(modules)} modules\n"
        f"  allowed: {allowed}"
    )


def test_a_fault_in_a_module_names_the_module() -> None:
    with pytest.raises(HipGraphError) as caught:
        verify(wrapped(b"HIP1", [Export("scale", **FITTING)], [OBJECT, OBJECT[:64]]), "gfx942")
    assert str(caught.value.where).startswith("modules[1]: code object")


def test_a_wrapper_is_part_of_what_an_executable_is() -> None:
    data = wrapped(b"AMD1", [Export("scale.kd", (8, 4, 2), **FITTING)], [OBJECT])
    executable = inspect(data + b"more")
    assert executable.source == data
    assert executable.content_hash == hashlib.sha256(data).hexdigest()
    assert executable != inspect(OBJECT)


def test_a_kernel_that_takes_more_constants_than_its_wrapper_says() -> None:
    assert refusal(Export("scale.kd", bindings=1, constants=1)).startswith(
        "the kernel takes more than its wrapper says\n"
        "  where: exports[0] of the wrapper\n"
        "  found: 1 bindings and 2 constants in the metadata\n"
        "  allowed: at most 1 bindings and 1 constants\n"
        "signature of scale:\n"
    )


def test_a_kernel_that_takes_more_bindings_than_its_wrapper_says() -> None:
    assert "  found: 1 bindings and 2 constants in the metadata\n" in refusal(Export("scale.kd", constants=2))


def test_a_listed_kernel_that_the_code_object_lacks() -> None:
    executable = inspect(wrapped(b"AMD1", [Export("scale.kd", **FITTING), Export("other.kd")], [OBJECT]))
    assert list(executable.exports) == ["scale"]
    assert str(executable.refused["other"]) == (
        "the wrapper lists a kernel that the code object does not have\n"
        "  where: exports[1] of the wrapper\n"
        "  found: 'other.kd'"
    )


def test_a_kernel_listed_twice_is_refused_at_load() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        inspect(wrapped(b"AMD1", [Export("scale.kd", **FITTING), Export("scale.kd", **FITTING)], [OBJECT]))
    assert str(caught.value) == "the wrapper lists a kernel twice\n  where: exports[1]\n  found: 'scale'"


def test_a_workgroup_size_that_the_kernel_was_not_compiled_for() -> None:
    required = kernel("scale", [pointer(0)], reqd_workgroup_size=[16, 4, 1])
    assert refusal(Export("scale.kd", (64, 1, 1), bindings=1), code_object(required)) == (
        "the wrapper's workgroup size is not one the kernel was compiled for\n"
        "  where: exports[0] of the wrapper\n"
        "  found: 64x1x1\n"
        "  allowed: 16x4x1, at most 1024 work-items"
    )


def test_a_workgroup_larger_than_the_kernel_was_compiled_for() -> None:
    assert refusal(Export("scale.kd", (16, 16, 2), **FITTING)) == (
        "the wrapper's workgroup size is not one the kernel was compiled for\n"
        "  where: exports[0] of the wrapper\n"
        "  found: 16x16x2\n"
        "  allowed: any shape, at most 256 work-items"
    )


def test_a_halfword_argument_cannot_be_a_constant() -> None:
    half = kernel("scale", [argument(0, 2)])
    assert refusal(Export("scale.kd", constants=1), code_object(half)).startswith(
        "the kernel cannot be called with bindings and constants\n"
    )


@pytest.mark.parametrize("name", ["ew/ew.amd1.fb", "ew/ew.hip1.fb", "mm/mm.amd1.fb", "mm/mm.hip1.fb"])
def test_compiled_wrappers_verify_with_every_export(name: str) -> None:
    executable = verify((CORPUS / "iree/gfx942" / name).read_bytes(), "gfx942")
    assert not executable.refused
    assert [len(export.parameters) for export in executable.exports.values()] == ([3, 7] if "ew" in name else [3, 3])


@pytest.mark.parametrize("name", ["h_hip.bundle", "h_hip.cbundle"])
@pytest.mark.parametrize("target", ["gfx90a:xnack-", "gfx1100"])
def test_clang_bundles_verify_for_each_of_their_targets(name: str, target: str) -> None:
    executable = verify((CORPUS / "clang" / name).read_bytes(), target)
    assert sorted(executable.exports) == ["h_red", "h_saxpy"]
    assert str(executable.target) == target.partition(":")[0]
