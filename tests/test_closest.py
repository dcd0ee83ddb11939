"""What an error proposes for a wrong name. The C++ names are those that llvm-cxxfilt gives."""

from __future__ import annotations

import pytest
from support import elf

from hipgraph_cb.closest import did_you_mean, listed
from hipgraph_cb.code_object.verify import verify
from hipgraph_cb.errors import NotFoundError

MANGLED = [
    "_Z5scalePfi",  # scale(float*, int)
    "_ZN4math5sigma6squareEPKdS2_",  # math::sigma::square(double const*, double const*)
    "_ZL6hiddenv",  # hidden()
    "_Z6reduceIfLi256EEvPT_",  # void reduce<float, 256>(float*)
    "_ZN12_GLOBAL__N_13addEPf",  # (anonymous namespace)::add(float*)
]


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("scale", ["_Z5scalePfi"]),
        ("scale(float*, int)", ["_Z5scalePfi"]),
        ("square", ["_ZN4math5sigma6squareEPKdS2_"]),
        ("math::sigma::square", ["_ZN4math5sigma6squareEPKdS2_"]),
        ("hidden", ["_ZL6hiddenv"]),
        ("reduce<float, 256>", ["_Z6reduceIfLi256EEvPT_"]),
        ("add", ["_ZN12_GLOBAL__N_13addEPf"]),
        ("scael", ["_Z5scalePfi"]),
    ],
)
def test_a_kernel_of_cpp_is_proposed_by_its_name_in_the_source(wrong, meant):
    assert did_you_mean(wrong, MANGLED) == f"did you mean {' or '.join(map(repr, meant))}?"


def test_names_that_are_alike_are_proposed_and_others_are_not():
    names = ["vector_add", "vector_sub", "matmul"]
    assert did_you_mean("vectoradd", names) == "did you mean 'vector_add' or 'vector_sub'?"
    assert did_you_mean("zzz", names) is None
    assert did_you_mean("zzz", []) is None


@pytest.mark.parametrize(
    "symbol", ["_Z", "_Z0", "_Z99999999999999999999a", "_ZN", "_ZN1", "_Z5sca", "_Z0123a", "__Z5scale"]
)
def test_a_symbol_that_only_looks_mangled_is_a_name_like_any_other(symbol):
    assert did_you_mean(symbol, [symbol]) == f"did you mean {symbol!r}?"


def test_a_long_list_of_names_is_cut():
    assert listed(["b", "a"]) == "a, b"
    many = [f"k{number:03}" for number in range(123)]
    assert listed(many) == ", ".join(many[:20]) + " and 103 more"


def test_a_wrong_kernel_name_says_what_was_meant():
    with pytest.raises(NotFoundError) as caught:
        verify(elf.code_object(elf.kernel("saxpy", [elf.pointer(0)]))).export("sxapy")
    assert str(caught.value) == (
        "the code object has no kernel 'sxapy'\n  found: 'sxapy'\n  allowed: saxpy\n  next: did you mean 'saxpy'?"
    )
