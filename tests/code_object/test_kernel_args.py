"""Packing values into the kernarg block. Expected bytes come from `struct` and numpy at the offsets of the metadata."""

from __future__ import annotations

import struct

import msgpack
import numpy as np
import pytest
from support import elf

from hipgraph_cb.code_object.kernel_args import KernargLayout, ParameterKind
from hipgraph_cb.code_object.metadata import parse_metadata
from hipgraph_cb.errors import InvalidArgumentError


def layout_of(*arguments: dict[str, object], **keys: object) -> KernargLayout:
    note = msgpack.packb(elf.document(elf.kernel("k", arguments, **keys)))
    return KernargLayout.from_metadata(parse_metadata(note).kernels[0])


SAXPY = layout_of(
    elf.pointer(0, name="y", type_name="float*"),
    elf.pointer(8, name="x", type_name="float*"),
    elf.argument(16, 4, name="a", type_name="float"),
    elf.argument(20, 4, name="n", type_name="uint"),
)
SAXPY_SIGNATURE = (
    "signature of k:\n"
    "  y: float* (pointer, 8 bytes at offset 0)\n"
    "  x: float* (pointer, 8 bytes at offset 8)\n"
    "  a: float (value, 4 bytes at offset 16)\n"
    "  n: uint (value, 4 bytes at offset 20)"
)


class Buffer:
    """In place of a buffer; packing does not look inside."""


def packed(size: int, type_name: str | None, value: object) -> bytes:
    return layout_of(elf.argument(0, size, type_name=type_name or "")).pack([value]).block


@pytest.mark.parametrize(
    ("size", "type_name", "value", "expected"),
    [
        (1, "char", -1, b"\xff"),
        (1, "uchar", 200, b"\xc8"),
        (1, "bool", True, b"\x01"),
        (2, "short", -2, b"\xfe\xff"),
        (2, "ushort", 65535, b"\xff\xff"),
        (2, "half", 1.5, struct.pack("<e", 1.5)),
        (4, "int", -(2**31), struct.pack("<i", -(2**31))),
        (4, "uint", 2**32 - 1, struct.pack("<I", 2**32 - 1)),
        (4, "float", 0.1, np.float32(0.1).tobytes()),
        (4, "float", 3, np.float32(3).tobytes()),
        (8, "double", 0.1, np.float64(0.1).tobytes()),
        (8, "long", -3, struct.pack("<q", -3)),
        (8, "ulong", 2**64 - 1, b"\xff" * 8),
        (16, "float4", np.arange(4, dtype=np.float32), np.arange(4, dtype=np.float32).tobytes()),
        (24, "struct pair", b"\x07" * 24, b"\x07" * 24),
        (24, "struct pair", bytearray(24), bytes(24)),
        (3, None, b"abc", b"abc"),
        (4, None, 2.0, np.float32(2).tobytes()),
        (2, None, 2.0, np.float16(2).tobytes()),
        (8, None, 2.0, np.float64(2).tobytes()),
        (4, None, -1, b"\xff" * 4),
        (4, None, 2**32 - 1, b"\xff" * 4),
        (4, None, np.int32(-5), np.int32(-5).tobytes()),
        (4, "float", np.float64(0.5), np.float32(0.5).tobytes()),
        (4, "uint", np.int64(7), np.uint32(7).tobytes()),
        (8, "double", np.int16(-3), np.float64(-3).tobytes()),
        (16, "float4", (1, 2.5, -3, 4), np.array([1, 2.5, -3, 4], np.float32).tobytes()),
        (4, "short2", [1, -2], np.array([1, -2], np.int16).tobytes()),
        (16, "uint3", (1, 2, 3), np.array([1, 2, 3, 0], np.uint32).tobytes()),
        (8, None, np.float64(2.5), np.float64(2.5).tobytes()),
        (4, "int", np.float32(1.0), np.float32(1.0).tobytes()),
        (0, None, b"", b""),
    ],
)
def test_a_value_becomes_exactly_the_bytes_of_its_parameter(size, type_name, value, expected):
    assert packed(size, type_name, value) == expected


@pytest.mark.parametrize(
    ("size", "type_name", "value", "found", "allowed"),
    [
        (1, "char", 128, "the number 128", "-128 to 127"),
        (1, "uchar", -1, "the number -1", "0 to 255"),
        (4, "uint", 2**32, "the number 4294967296", "0 to 4294967295"),
        (4, None, 2**32, "the number 4294967296", "-2147483648 to 4294967295"),
        (4, "int", 1.0, "the float 1.0", "an integer"),
        (2, "half", 1e6, "the float 1000000.0", "a value that fits a float of 2 bytes"),
        (4, "float", 1 << 1200, "a number of 1201 bits", "a value that fits a float of 4 bytes"),
        (4, "int", 1 << 400, "a number of 401 bits", "-2147483648 to 2147483647"),
        (24, None, 1, "the number 1", "bytes or a numpy value of 24 bytes"),
        (16, "float4", 1.0, "the float 1.0", "bytes or a numpy value of 16 bytes"),
        (0, None, 0, "the number 0", "bytes or a numpy value of 0 bytes"),
        (4, "float", np.zeros(2, np.float32), "ndarray of 8 bytes", "exactly 4 bytes"),
        (4, "uint", np.int64(-1), "the number -1", "0 to 4294967295"),
        (4, "int", np.float64(1), "the float 1.0", "an integer"),
        (16, "float4", (1, 2, 3), "3 values", "4 values for float4"),
        (4, "float", (1, 2), "tuple", "a number, or bytes or a numpy value of 4 bytes"),
        (4, None, b"abc", "bytes of 3 bytes", "exactly 4 bytes"),
        (4, None, None, "NoneType", "a number, or bytes or a numpy value of 4 bytes"),
        (4, None, "four", "str", "a number, or bytes or a numpy value of 4 bytes"),
        (4, None, Buffer(), "Buffer", "a number, or bytes or a numpy value of 4 bytes"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_found_and_allowed(size, type_name, value, found, allowed):
    with pytest.raises(InvalidArgumentError) as caught:
        packed(size, type_name, value)
    assert caught.value.found.startswith(f"{found} (given: ")
    assert caught.value.allowed == allowed


def test_a_wrong_value_names_the_parameter_and_prints_the_signature():
    with pytest.raises(InvalidArgumentError) as caught:
        SAXPY.pack([Buffer(), Buffer(), 2.0, 1.5])
    assert (
        str(caught.value)
        == (
            "k: argument 3 (n: uint) does not fit\n"
            "  found: the float 1.5 (given: Buffer, Buffer, 2.0, 1.5)\n"
            "  allowed: an integer\n"
            "  next: pass a value of the parameter's type\n"
        )
        + SAXPY_SIGNATURE
    )


@pytest.mark.parametrize(
    ("values", "what", "found"),
    [
        ([], "k: too few arguments", "0 arguments ()"),
        ([None, b"12", 2.0], "k: too few arguments", "3 arguments (None, 2 bytes, 2.0)"),
        ([0, 0, 1.0, 2, "x"], "k: too many arguments", "5 arguments (0, 0, 1.0, 2, 'x')"),
    ],
)
def test_a_wrong_count_prints_the_signature_and_what_was_given(values, what, found):
    with pytest.raises(InvalidArgumentError) as caught:
        SAXPY.pack(values)
    assert (
        str(caught.value)
        == (
            f"{what}\n"
            f"  found: {found}\n"
            "  allowed: 4 arguments\n"
            "  next: pass one value for each parameter, in this order\n"
        )
        + SAXPY_SIGNATURE
    )


def test_pointers_come_in_any_order_and_are_returned_unchanged():
    layout = layout_of(elf.argument(0, 4), elf.pointer(8), elf.argument(16, 2), elf.pointer(24))
    first, second = Buffer(), Buffer()
    block, pointers = layout.pack([7, first, 9, second])
    assert pointers == ((8, first), (24, second))
    assert block == struct.pack("<i4xqh6xq", 7, 0, 9, 0)


@pytest.mark.parametrize("null", [None, 0])
def test_a_null_pointer_is_eight_zero_bytes(null):
    assert SAXPY.pack([null, Buffer(), 0.0, 0]).block[:8] == bytes(8)
    assert [offset for offset, _ in SAXPY.pack([null, Buffer(), 0.0, 0]).pointers] == [8]


@pytest.mark.parametrize(
    ("value", "found"), [(4096, "int 4096"), (1.0, "float 1.0"), (b"12345678", "bytes 8 bytes"), (True, "bool True")]
)
def test_a_plain_value_is_not_a_pointer(value, found):
    with pytest.raises(InvalidArgumentError) as caught:
        SAXPY.pack([value, None, 2.0, 1])
    assert caught.value.what == "k: argument 0 (y: float*) does not fit"
    assert caught.value.found.startswith(found)
    assert caught.value.allowed == "a buffer, a view, a slot, or None for null"


def test_padding_stays_zero_and_nothing_is_written_past_the_block():
    layout = layout_of(elf.argument(3, 1), elf.argument(8, 2), kernarg_segment_size=32)
    assert layout.pack([-1, -1]).block == b"\0\0\0\xff\0\0\0\0\xff\xff".ljust(32, b"\0")


def test_hidden_arguments_take_no_value_and_stay_zero():
    layout = layout_of(elf.argument(0, 4), elf.argument(8, 8, "hidden_global_offset_x"), elf.argument(16, 4))
    assert [parameter.index for parameter in layout.parameters] == [0, 1]
    assert layout.pack([1, 2]).block == struct.pack("<i4xqi", 1, 0, 2)
    assert layout.hidden == (("hidden_global_offset_x", 8, 8),)


def test_a_dynamic_lds_pointer_is_an_offset_and_none_is_its_start():
    layout = layout_of(elf.argument(0, 4, "dynamic_shared_pointer"), elf.argument(4, 4))
    assert layout.parameters[0].kind is ParameterKind.DYNAMIC_LDS
    assert layout.pack([None, 5]).block == struct.pack("<II", 0, 5)
    assert layout.pack([256, 5]).block == struct.pack("<II", 256, 5)


def test_labels_show_what_the_metadata_lacks():
    layout = layout_of(elf.argument(0, 4), elf.argument(4, 4, name="n"), elf.pointer(8), elf.pointer(16, name="p"))
    labels = [parameter.label for parameter in layout.parameters]
    assert labels == ["arg0: untyped 4 bytes", "n: untyped 4 bytes", "arg2: pointer", "p: pointer"]


@pytest.mark.parametrize("value_kind", ["image", "sampler", "pipe", "queue", "made_up_kind"])
def test_an_argument_that_no_launch_can_fill_is_refused(value_kind):
    with pytest.raises(InvalidArgumentError) as caught:
        layout_of(elf.pointer(0), elf.argument(8, 8, value_kind, name="odd"))
    assert str(caught.value) == (
        "the kernel has an argument of a kind that cannot be passed\n"
        "  where: argument 1 (odd)\n"
        f"  found: .value_kind {value_kind}\n"
        "  allowed: global_buffer, by_value, dynamic_shared_pointer"
    )


def test_a_pointer_is_eight_bytes_wide():
    with pytest.raises(InvalidArgumentError) as caught:
        layout_of(elf.argument(0, 4, "global_buffer"))
    assert str(caught.value) == (
        "the kernel has a pointer of the wrong size\n"
        "  where: argument 0 (unnamed)\n"
        "  found: 4 bytes\n"
        "  allowed: 8 bytes"
    )


def test_bindings_and_constants_go_to_the_kernels_own_offsets():
    layout = layout_of(elf.argument(0, 4), elf.pointer(8), elf.argument(16, 12), elf.pointer(32))
    first, second = Buffer(), Buffer()
    block, pointers = layout.pack_hal([first, second], [1, 2, 3, 0xFFFFFFFF])
    assert pointers == ((8, first), (32, second))
    assert block == struct.pack("<I4xqIII4xq", 1, 0, 2, 3, 0xFFFFFFFF, 0)


@pytest.mark.parametrize(
    ("bindings", "constants", "found"),
    [
        ([None], [1, 2], "1 bindings, 2 constants"),
        ([None, None], [1], "2 bindings, 1 constants"),
        ([None] * 3, [1, 2], "3 bindings, 2 constants"),
    ],
)
def test_wrong_counts_of_bindings_and_constants_are_refused(bindings, constants, found):
    with pytest.raises(InvalidArgumentError) as caught:
        SAXPY.pack_hal(bindings, constants)
    assert (
        str(caught.value)
        == (
            "k: bindings and constants do not fit the kernel\n"
            f"  found: {found}\n"
            "  allowed: 2 bindings, 2 constants of 32 bits\n"
            "  next: give one binding for each pointer and the by-value arguments as 32-bit words, or use args=\n"
        )
        + SAXPY_SIGNATURE
    )


def test_a_kernel_with_small_values_takes_args_only():
    layout = layout_of(elf.argument(0, 2))
    with pytest.raises(
        InvalidArgumentError, match=r"found: 2 bytes for arg0: untyped 2 bytes\n  allowed: a multiple of 4 bytes"
    ):
        layout.pack_hal([], [1])
    assert layout.pack([1]).block == b"\x01\x00"


@pytest.mark.parametrize("constant", [1 << 32, -(1 << 31) - 1])
def test_a_constant_is_a_word_of_32_bits(constant):
    with pytest.raises(InvalidArgumentError) as caught:
        SAXPY.pack_hal([None, None], [constant, 0])
    assert str(caught.value) == (
        f"k: a constant is not a 32-bit word\n  found: the number {constant}\n  allowed: -2147483648 to 4294967295"
    )


def test_a_value_type_names_the_type_where_no_type_name_does():
    rows = [
        elf.argument(0, 8, "global_buffer", address_space="global", value_type="f32"),
        elf.argument(8, 4, value_type="f32"),
        elf.argument(12, 4, value_type="u32"),
        elf.argument(16, 8, value_type="u32"),
        elf.argument(24, 4, value_type="struct"),
        elf.argument(28, 4, value_type="f32", type_name="uint"),
    ]
    kernel = layout_of(*rows)
    labels = ["float*", "float", "uint", "untyped 8 bytes", "untyped 4 bytes", "uint"]
    assert [row.label for row in kernel.parameters] == [f"arg{index}: {text}" for index, text in enumerate(labels)]
    assert kernel.pack([0, 1, 1, 0, 0, 0]).block[8:16] == struct.pack("<fI", 1, 1)
    with pytest.raises(InvalidArgumentError, match=r"the float 1\.5"):
        kernel.pack([0, 1, 1.5, 0, 0, 0])


@pytest.mark.parametrize(
    ("size", "keys", "taken"),
    [
        (8, {}, True),
        (8, {"value_type": "u64"}, True),
        (8, {"type_name": "ulong"}, True),
        (8, {"value_type": "struct"}, True),
        (8, {"value_type": "f64"}, False),
        (8, {"type_name": "double"}, False),
        (4, {}, False),
        (16, {}, False),
    ],
)
def test_memory_is_taken_for_values_of_eight_bytes_that_are_not_floats(size, keys, taken):
    kernel, memory = layout_of(elf.argument(0, size, **keys)), object()
    if taken:
        for _ in range(2):
            assert kernel.pack([memory]) == (bytes(size), ((0, memory),))
        assert kernel.pack([7]) == (struct.pack("<Q", 7), ())
    else:
        with pytest.raises(InvalidArgumentError, match=r"argument 0 .* does not fit"):
            kernel.pack([memory])
