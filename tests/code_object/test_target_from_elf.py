"""The target in the ELF header. Expected values: LLVM AMDGPU usage ("ELF header e_flags" of code objects v3 to v6)."""

from __future__ import annotations

import re

import pytest
from support import elf

from hipgraph_cb.code_object.code_object import CodeObject
from hipgraph_cb.code_object.processors import PROCESSOR_OF_MACH
from hipgraph_cb.code_object.target_id import FeatureState, TargetId
from hipgraph_cb.errors import InvalidArgumentError

ANY, UNSUPPORTED, OFF, ON = FeatureState.ANY, FeatureState.UNSUPPORTED, FeatureState.OFF, FeatureState.ON
V3, V4, V5, V6 = 1, 2, 3, 4


@pytest.mark.parametrize(
    ("abi", "flags", "text", "sramecc", "xnack"),
    [
        (V5, 0x4C + 0xC00 + 0x200, "gfx942:sramecc+:xnack-", ON, OFF),
        (V4, 0x4C + 0x800 + 0x300, "gfx942:sramecc-:xnack+", OFF, ON),
        (V5, 0x41 + 0x400, "gfx1100", ANY, UNSUPPORTED),
        (V3, 0x2F, "gfx906:sramecc-:xnack-", OFF, OFF),
        (V3, 0x30 + 0x100 + 0x200, "gfx908:sramecc+:xnack+", ON, ON),
        (V3, 0x36, "gfx1030", UNSUPPORTED, UNSUPPORTED),
        (V5, 0x41 + (1 << 24), "gfx1100", UNSUPPORTED, UNSUPPORTED),
    ],
)
def test_the_flags_hold_processor_and_features(abi, flags, text, sramecc, xnack):
    target = CodeObject(elf.header(flags=flags, abi_version=abi)).target
    assert (str(target), target.sramecc, target.xnack) == (text, sramecc, xnack)
    assert target.generic_version == 0


def test_a_generic_target_states_its_version_in_code_object_v6():
    target = CodeObject(elf.header(flags=0x54 + (1 << 24), abi_version=V6)).target
    assert (str(target), target.generic_version) == ("gfx11-generic", 1)


@pytest.mark.parametrize(
    ("abi", "flags", "found", "allowed"),
    [
        (
            V6,
            0x54,
            "gfx11-generic with generic version 0 in code object v6",
            "a generic version of at least 1, in code object v6",
        ),
        (
            V5,
            0x54 + (1 << 24),
            "gfx11-generic with generic version 1 in code object v5",
            "a generic version of at least 1, in code object v6",
        ),
        (V6, 0x41 + (1 << 24), "gfx1100 with generic version 1", "no generic version"),
        (V5, 0x27, "machine 0x27 in e_flags 0x27", "a known EF_AMDGPU_MACH value"),
        (V5, 0x00, "machine 0x00 in e_flags 0x0", "a known EF_AMDGPU_MACH value"),
        (V5, 0x1F, "machine 0x1f in e_flags 0x1f", "a known EF_AMDGPU_MACH value"),
        (V5, 0x60, "machine 0x60 in e_flags 0x60", "a known EF_AMDGPU_MACH value"),
        (0, 0x41, "EI_ABIVERSION 0", "1 (code object v3) to 4 (code object v6)"),
        (5, 0x41, "EI_ABIVERSION 5", "1 (code object v3) to 4 (code object v6)"),
    ],
)
def test_flags_that_name_no_target_are_refused(abi, flags, found, allowed):
    with pytest.raises(InvalidArgumentError) as caught:
        CodeObject(elf.header(flags=flags, abi_version=abi))
    assert str(caught.value) == (
        f"the ELF header names no target\n  where: e_flags\n  found: {found}\n  allowed: {allowed}"
    )


def test_exactly_the_assigned_machine_values_are_known():
    assert set(PROCESSOR_OF_MACH) == set(range(0x20, 0x60)) - {0x27, 0x4D, 0x56, 0x57}
    assert len(set(PROCESSOR_OF_MACH.values())) == len(PROCESSOR_OF_MACH)


@pytest.mark.parametrize("processor", sorted(PROCESSOR_OF_MACH.values()))
def test_every_processor_of_the_table_is_also_a_target_id(processor):
    assert TargetId.parse(processor).processor == processor
    assert re.fullmatch(r"\d+, \d+, \d+", ", ".join(map(str, TargetId.parse(processor).version)))
