"""The kernels that ship in the package (`hipgraph_cb.samples`)."""

import json
from pathlib import Path

import pytest

from hipgraph_cb import samples
from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.code_object.verify import verify
from hipgraph_cb.errors import InvalidArgumentError, NotFoundError

BUILT = json.loads((Path(samples.__file__).parent / "provenance.json").read_text())
TARGETS = sorted({name.split(".")[1] for name in BUILT})
KERNELS = {"saxpy": {"saxpy"}, "pipeline": {"smooth", "block_sum"}, "demo": {"saxpy", "soft_sign"}}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("target", TARGETS)
def test_each_sample_is_a_code_object_for_each_target(name: str, target: str) -> None:
    verified = verify(samples.path(name, target).read_bytes(), target=target)
    assert set(verified.exports) == KERNELS[name]


def test_the_features_of_a_device_do_not_matter() -> None:
    assert samples.path("saxpy", TargetId.parse("gfx942:sramecc+:xnack-")) == samples.path("saxpy", "gfx942")


@pytest.mark.parametrize(("name", "target"), [("saxpy", "gfx906"), ("daxpy", "gfx942")])
def test_a_sample_that_is_not_there_is_not_found(name: str, target: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        samples.path(name, target)
    folder = Path(samples.__file__).parent
    allowed = ", ".join(sorted(name.removesuffix(".hsaco") for name in BUILT))
    assert str(caught.value) == (
        f"no sample {name!r} for {target}\n"
        f"  allowed: {allowed}\n"
        f"  next: build one of the .cl files in {folder} for it with clang, as provenance.json there says"
    )


def test_a_target_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="target ID 'any' is not valid"):
        samples.path("saxpy", "any")
