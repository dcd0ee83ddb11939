"""Target IDs as text. Expected values: LLVM AMDGPU usage ("Target ID"), and the grammar it states."""

from __future__ import annotations

import pytest

from hipgraph_cb.code_object.target_id import FeatureState, TargetId, code_object_target
from hipgraph_cb.errors import InvalidArgumentError

ANY, UNSUPPORTED, OFF, ON = FeatureState.ANY, FeatureState.UNSUPPORTED, FeatureState.OFF, FeatureState.ON


@pytest.mark.parametrize(
    ("text", "version", "sramecc", "xnack"),
    [
        ("gfx1100", (11, 0, 0), UNSUPPORTED, UNSUPPORTED),
        ("gfx90a", (9, 0, 10), ANY, ANY),
        ("gfx942", (9, 4, 2), ANY, ANY),
        ("gfx1030", (10, 3, 0), UNSUPPORTED, UNSUPPORTED),
        ("gfx1013", (10, 1, 3), UNSUPPORTED, ANY),
        ("gfx90A", (9, 0, 10), ANY, ANY),
        ("gfx1300", (13, 0, 0), ANY, ANY),
        ("amdgcn-amd-amdhsa--gfx942:xnack-:sramecc+", (9, 4, 2), ON, OFF),
        ("amdgcn-amd-amdhsa--gfx942", (9, 4, 2), ANY, ANY),
        ("gfx1100:xnack+", (11, 0, 0), UNSUPPORTED, ON),
    ],
)
def test_an_exact_processor_is_read_with_its_features(text, version, sramecc, xnack):
    target = TargetId.parse(text)
    assert (target.version, target.sramecc, target.xnack) == (version, sramecc, xnack)
    assert not target.is_generic
    assert target.generic_version == 0


@pytest.mark.parametrize(
    ("text", "version", "xnack"),
    [
        ("gfx9-4-generic", (9, 4, 0), ANY),
        ("gfx11-generic", (11, 0, 0), ANY),
        ("gfx12-5-generic", (12, 5, 0), ANY),
        ("gfx9-4-generic:xnack+", (9, 4, 0), ON),
    ],
)
def test_a_generic_processor_has_stepping_zero_and_any_feature(text, version, xnack):
    target = TargetId.parse(text)
    assert target.is_generic
    assert target.processor == text.split(":")[0]
    assert (target.version, target.sramecc, target.xnack) == (version, ANY, xnack)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "amdgcn-amd-amdhsa--",
        "gfx942foo",
        "gfx90g",
        "gfx2030",
        "gfx94",
        "gfx94200",
        "gfx9-4-1-generic",
        "gfx9--generic",
        "gfx-generic",
        "gfx4294967296-generic",
        "gfx9-4294967296-generic",
        "gfx" + "9" * 5000 + "-generic",
        "gfx942\n",
        "sm_90",
    ],
)
def test_a_processor_outside_the_grammar_is_refused(text):
    with pytest.raises(InvalidArgumentError, match="is not valid\n  found: processor "):
        TargetId.parse(text)


@pytest.mark.parametrize(
    ("text", "feature"),
    [
        ("gfx942:xnack+:xnack-", "xnack-"),
        ("gfx942:xnack+:xnack+", "xnack+"),
        ("gfx942:wavefrontsize64+", "wavefrontsize64+"),
        ("gfx942:", ""),
        ("gfx942:xnack+:", ""),
        ("gfx942:xnack", "xnack"),
        ("gfx942:+", "+"),
        ("gfx942::xnack+", ""),
        ("gfx942:XNACK+", "XNACK+"),
    ],
)
def test_a_feature_outside_the_grammar_is_refused(text, feature):
    with pytest.raises(InvalidArgumentError) as caught:
        TargetId.parse(text)
    assert str(caught.value) == (
        f"target ID {text!r} is not valid\n"
        f"  found: feature {feature!r}\n"
        "  allowed: [amdgcn-amd-amdhsa--]PROCESSOR[:sramecc+|-][:xnack+|-], such as gfx942:sramecc+:xnack-"
    )


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("gfx942:xnack-:sramecc+", "gfx942:sramecc+:xnack-"),
        ("amdgcn-amd-amdhsa--gfx90a:xnack+", "gfx90a:xnack+"),
        ("gfx1100", "gfx1100"),
        ("gfx9-4-generic:sramecc-", "gfx9-4-generic:sramecc-"),
    ],
)
def test_the_canonical_text_names_sramecc_before_xnack_and_only_what_was_chosen(text, canonical):
    assert str(TargetId.parse(text)) == canonical
    assert TargetId.parse(canonical) == TargetId.parse(text)


@pytest.mark.parametrize(
    ("agent", "target"),
    [
        ("gfx942:sramecc+:xnack-", "gfx9-4-generic:sramecc+:xnack-"),
        ("gfx906", "gfx9-generic"),
        ("gfx908", "gfx908"),
        ("gfx90a", "gfx90a"),
        ("gfx1036", "gfx10-3-generic"),
        ("gfx1152", "gfx11-generic"),
        ("gfx1201", "gfx12-generic"),
        ("gfx1250", "gfx12-5-generic"),
        ("gfx1300", "gfx1300"),
    ],
)
def test_a_device_runs_code_of_its_generic_processor_with_its_own_features(agent, target):
    assert str(code_object_target(TargetId.parse(agent))) == target


def test_a_generic_target_is_not_a_device():
    with pytest.raises(InvalidArgumentError) as caught:
        code_object_target(TargetId.parse("gfx11-generic"))
    assert str(caught.value) == (
        "a generic target is not a device\n  found: gfx11-generic\n  allowed: an exact processor"
    )
