"""Every code object of the corpus for gfx942, loaded, recorded and replayed on an opened device, against numpy."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pytest
from support import corpus_cases as cases
from support.corpus_cases import Case, Out
from support.virtual_gpu import VirtualGpu

from hipgraph_cb import open_device

CORPUS = Path(__file__).parents[1] / "fixtures" / "corpus"
TRITON, IREE = CORPUS / "triton", CORPUS / "iree" / "gfx942"


def dynamic_lds(name: str) -> int:
    return int(json.loads((TRITON / f"{name}.gfx942.json").read_text())["dynamic_lds_bytes"])


def all_launches() -> list[tuple[Path, Case]]:
    clang = CORPUS / "clang"
    sizes = ((1, 64), (65, 50), (1000, 192), (1500, 256))
    launches = [(clang / "k_cl.gfx942.hsaco", case) for case in cases.opencl_cases(sizes)]
    for version in (4, 5, 6):
        path = clang / f"k_cl_cov{version}.gfx942.hsaco"
        launches += [(path, case) for case in cases.opencl_cases(((100, 64),))]
    plain = [cases.saxpy("c_saxpy", n, block) for n, block in ((1, 64), (1000, 192), (2000, 1024))]
    plain += [cases.counted(n, block) for n, block in ((5, 64), (1000, 192))] + [cases.sizes_of_a_launch()]
    launches += [(clang / "c_kern.gfx942.hsaco", case) for case in plain]
    hip = [cases.saxpy("h_saxpy", 1000, 100), cases.sum_of_a_group()]
    launches += [(clang / "h_hip.gfx942.hsaco", case) for case in hip]
    launches += [(clang / "asm.gfx942.hsaco", cases.copied(groups)) for groups in (1, 7)]
    for name, rows in cases.triton_cases(dynamic_lds).items():
        launches += [(TRITON / f"{name}.gfx942.hsaco", case) for case in rows]
    for name, rows in cases.iree_cases().items():
        for path in sorted((IREE / name).iterdir()):  # the bare code object and its wrapped forms
            launches += [(path, case) for case in rows if path.suffix != ".json"]
    return launches


LAUNCHES = all_launches()


@pytest.fixture(scope="module", params=["hip", pytest.param("hsa", marks=pytest.mark.long)])
def device(request):
    with open_device(request.param) as device:
        yield device


@pytest.fixture(scope="module")
def executables(device):
    return {path: device.load(path) for path in {path for path, _ in LAUNCHES}}


@pytest.mark.parametrize(("path", "case"), LAUNCHES, ids=[f"{path.name}-{case}" for path, case in LAUNCHES])
def test_a_recorded_launch_gives_what_numpy_gives(device, executables, path, case):
    results = {index: device.allocate(arg.start.nbytes) for index, arg in enumerate(case.args) if isinstance(arg, Out)}
    args = [results.get(index, argument(device, arg)) for index, arg in enumerate(case.args)]
    with device.command_buffer(label=case.kernel) as cb:
        for index, buffer in results.items():
            cb.update_buffer(buffer, np.ascontiguousarray(case.args[index].start))
        cb.execution_barrier()
        cb.dispatch(executables[path][case.kernel], case.groups, case.block, args=args, dynamic_lds=case.dynamic_lds)
    for _ in range(2):  # a replay starts again
        cb.replay()
    for index, buffer in results.items():
        check(buffer, case.args[index])


def argument(device, value):
    return device.from_host(value) if isinstance(value, np.ndarray) else value


def sampled(every: int):
    """Each launch with a seed: some in the ordinary suite, all with two seeds in the long one."""
    for index, (path, case) in enumerate(LAUNCHES):
        for seed in (0, 1):
            marks = () if index % every == 0 and seed == 0 else pytest.mark.long
            yield pytest.param(path, case, seed, id=f"{path.name}-{case}-{seed}", marks=marks)


@pytest.mark.parametrize(("path", "case", "seed"), list(sampled(every=10)))
def test_waves_in_a_random_order_give_it_too(path, case, seed):
    gpu = VirtualGpu(path.read_bytes())
    results = {index: gpu.upload(arg.start) for index, arg in enumerate(case.args) if isinstance(arg, Out)}
    args = [
        results.get(index, gpu.upload(arg) if isinstance(arg, np.ndarray) else arg)
        for index, arg in enumerate(case.args)
    ]
    grid = tuple(count * size for count, size in zip_longest(case.groups, case.block, fillvalue=1))
    settings = replace(gpu.settings, interleaves=True, seed=seed)
    gpu.launch(case.kernel, grid, case.block, args, dynamic_lds=case.dynamic_lds, settings=settings)
    for index, address in results.items():
        out = case.args[index]
        compare(gpu.read(address, out.start.size, out.start.dtype).reshape(out.start.shape), out)


def check(buffer, out: Out) -> None:
    compare(buffer.to_host(out.start.dtype).reshape(out.start.shape), out)


def compare(result, out: Out) -> None:
    if out.absolute < 0:
        assert (result != out.expected).mean() < 0.01
    elif out.relative or out.absolute:
        np.testing.assert_allclose(result, out.expected, rtol=out.relative, atol=out.absolute)
    else:
        assert result.tobytes() == np.ascontiguousarray(out.expected).tobytes()


def test_every_file_of_the_corpus_for_gfx942_is_launched():
    files = {path for path in CORPUS.rglob("*") if "gfx942" in str(path) and path.suffix in (".hsaco", ".fb")}
    assert files == {path for path, _ in LAUNCHES}


def test_every_kernel_of_these_files_is_launched(executables):
    launched = {(path, case.kernel) for path, case in LAUNCHES}
    assert {(path, name) for path, executable in executables.items() for name in executable} == launched
