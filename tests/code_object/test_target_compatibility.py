"""Which code object runs on which device. Expected values: LLVM AMDGPU usage ("Target ID", generic processors)."""

from __future__ import annotations

import itertools

import pytest

from hipgraph_cb.code_object.target_id import TargetId, incompatibilities


def reasons(code_object: str, agent: str) -> tuple[str, ...]:
    return incompatibilities(TargetId.parse(code_object), TargetId.parse(agent))


@pytest.mark.parametrize(
    ("code_object", "agent"),
    [
        ("gfx1100", "gfx1100"),
        ("gfx11-generic", "gfx1100"),
        ("gfx9-4-generic", "gfx942"),
        ("gfx9-4-generic", "gfx940"),
        ("gfx9-4-generic", "gfx950"),
        ("gfx12-5-generic", "gfx1250"),
        ("gfx942", "gfx942:xnack-"),
        ("gfx13-1-generic", "gfx1310"),
        ("gfx11-generic", "gfx11-generic"),
        ("gfx90a", "gfx90A"),
    ],
)
def test_code_runs_on_its_own_processor_and_code_of_a_generic_one_on_its_members(code_object, agent):
    assert reasons(code_object, agent) == ()


@pytest.mark.parametrize(
    ("code_object", "agent", "expected"),
    [
        ("gfx1100", "gfx1101", ("processor",)),
        ("gfx9-generic", "gfx942", ("generic family",)),
        ("gfx9-generic", "gfx940", ("generic family",)),
        ("gfx9-generic", "gfx90a", ("generic family",)),
        ("gfx12-generic", "gfx1250", ("generic family",)),
        ("gfx13-generic", "gfx1310", ("generic family",)),
        ("gfx11-generic", "gfx12-generic", ("generic family",)),
        ("gfx1100", "gfx11-generic", ("processor",)),
        ("gfx942:xnack+", "gfx942:xnack-", ("xnack",)),
        ("gfx942:sramecc+:xnack+", "gfx1100", ("processor", "sramecc", "xnack")),
        ("gfx9-4-generic:sramecc+:xnack+", "gfx1100", ("generic family", "sramecc", "xnack")),
    ],
)
def test_every_reason_is_named_in_a_fixed_order(code_object, agent, expected):
    assert reasons(code_object, agent) == expected


@pytest.mark.parametrize("feature", ["sramecc", "xnack"])
@pytest.mark.parametrize("processor", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(("built", "has"), list(itertools.product(["", "+", "-"], repeat=2)))
def test_a_feature_that_was_chosen_needs_a_device_in_exactly_that_state(feature, processor, built, has):
    def spelled(sign: str) -> str:
        return f"{processor}:{feature}{sign}" if sign else processor

    expected = (feature,) if built and built != has else ()
    assert reasons(spelled(built), spelled(has)) == expected
