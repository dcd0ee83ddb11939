"""What one backend refuses to load, the other refuses too, with the same words (E4)."""

import re
from pathlib import Path

import pytest

from hipgraph_cb import open_device
from hipgraph_cb.errors import HipGraphError, NotFoundError

CORPUS = Path(__file__).parent.parent / "fixtures" / "corpus"
GOOD = (CORPUS / "clang" / "k_cl.gfx942.hsaco").read_bytes()


@pytest.fixture(scope="module")
def devices():
    with open_device("hip") as hip, open_device("hsa") as hsa:
        yield hip, hsa


def with_lying_target(data):
    """The note states a target that the ELF flags contradict."""
    assert b"amdgcn-amd-amdhsa--gfx942" in data
    return data.replace(b"amdgcn-amd-amdhsa--gfx942", b"amdgcn-amd-amdhsa--gfx90a")


REFUSED = {
    "another target": (CORPUS / "clang" / "k_cl.gfx1100.hsaco").read_bytes(),
    "an older target of the family": (CORPUS / "clang" / "k_cl.gfx90a.hsaco").read_bytes(),
    "truncated": GOOD[:9000],
    "cut in the header": GOOD[:40],
    "a lying note": with_lying_target(GOOD),
    "no code object": b"this is no code object, however long it goes on" * 4,
    "a bundle without a match": (CORPUS / "clang" / "h_hip.bundle").read_bytes(),
    "nothing": b"",
    "an ELF file of the host": b"\x7fELF\x02\x01\x01" + bytes(57),
}


def refusal(device, data):
    with pytest.raises(HipGraphError) as caught:
        device.load(data)
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED)
def test_a_bad_code_object_is_the_same_error(devices, data):
    hip, hsa = devices
    assert refusal(hip, data) == refusal(hsa, data)


@pytest.mark.parametrize("file", ["clang/k_cl.gfx942.hsaco", "clang/asm.gfx942.hsaco", "clang/h_hip.gfx942.hsaco"])
def test_the_same_kernels_are_accepted_and_refused(devices, file):
    one, other = [device.load(CORPUS / file) for device in devices]
    assert list(one) == list(other)
    assert {name: str(reason) for name, reason in one.verified.refused.items()} == {
        name: str(reason) for name, reason in other.verified.refused.items()
    }
    assert one.target == other.target


def test_a_variable_that_is_not_there_is_the_same_error(devices):
    messages = []
    for device in devices:
        for name in ("no_such_variable", "saxpy", "saxpy.kd"):
            with pytest.raises(NotFoundError) as caught:
                device.load(GOOD).global_(name)
            messages.append(str(caught.value))
    assert messages[:3] == messages[3:]
    assert messages[0] == (
        "global_: no such variable\n  where: executable\n  found: 'no_such_variable'\n  allowed: __oclc_ABI_version"
    )


def test_the_same_dispatches_are_refused(devices):
    messages = []
    for device in devices:
        kernel, y = device.load(GOOD)["saxpy"], device.allocate(4096)
        for count, size, lds in ((1, 1024, 0), (1, 256, 1 << 17), (1 << 31, 256, 0)):
            with pytest.raises(HipGraphError) as caught, device.command_buffer() as cb:
                cb.dispatch(kernel, count, size, args=[y, y, 1.0, 1], dynamic_lds=lds)
            messages.append((type(caught.value), re.sub("Hip|Hsa", "", str(caught.value))))
    assert messages[:3] == messages[3:]
