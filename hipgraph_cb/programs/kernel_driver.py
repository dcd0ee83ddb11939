"""What the kernel driver of AMD GPUs says about itself, as files, and the program that lists drivers.

`kernel_paths.c` lets programs find the folder `kernel` of the run in the places of the driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.virtual.machine import gpu_model
from hipgraph_cb.virtual.models import GpuModel

AMD = 0x1002
_FIRST_RENDER_NODE = 128
_LSMOD = """#!/bin/sh
echo 'Module                  Size  Used by'
echo 'amdgpu              16384  0'
"""


def write_kernel_driver(folder: Path, targets: Sequence[str]) -> None:
    """Write `kernel` and `bin/lsmod` into the folder of a run.

    Raises:
        InvalidArgumentError: there is no such virtual GPU.
    """
    models = [gpu_model(target) for target in targets]
    kernel = folder / "kernel"
    _write(kernel / "dev" / "kfd", "")
    _write(kernel / "sys" / "module" / "amdgpu" / "initstate", "live\n")
    _write(kernel / "sys" / "module" / "amdgpu" / "version", "6.14.14\n")
    topology = kernel / "sys" / "class" / "kfd" / "kfd" / "topology"
    _write(topology / "generation_id", "1\n")
    _write(topology / "system_properties", "platform_oem 0\nplatform_id 0\nplatform_rev 0\n")
    _write_node(topology / "nodes" / "0", 0, "", {"cpu_cores_count": 1, "simd_count": 0})
    for number, (target, model) in enumerate(models, start=1):
        _write_node(topology / "nodes" / str(number), 0x1000 * number, model.processor, _gpu(number, target, model))
    _write(folder / "bin" / "lsmod", _LSMOD)
    (folder / "bin" / "lsmod").chmod(0o755)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _write_node(folder: Path, gpu_id: int, name: str, properties: dict[str, int]) -> None:
    _write(folder / "gpu_id", f"{gpu_id}\n")
    _write(folder / "name", f"{name}\n")
    _write(folder / "properties", "".join(f"{key} {value}\n" for key, value in properties.items()))


def _gpu(number: int, target: TargetId, model: GpuModel) -> dict[str, int]:
    simds = 4 if model.wavefront_size == 64 else 2
    return {
        "cpu_cores_count": 0,
        "simd_count": simds * model.compute_units,
        "mem_banks_count": 1,
        "caches_count": 0,
        "io_links_count": 1,
        "max_waves_per_simd": model.threads_per_compute_unit // model.wavefront_size // simds,
        "lds_size_in_kb": model.lds >> 10,
        "wave_front_size": model.wavefront_size,
        "array_count": 1,
        "simd_arrays_per_engine": 1,
        "cu_per_simd_array": model.compute_units,
        "simd_per_cu": simds,
        "gfx_target_version": gfx_target_version(target.processor),
        "vendor_id": AMD,
        "device_id": model.pci_chip,
        "location_id": (number + 2) << 8,
        "domain": 0,
        "drm_render_minor": _FIRST_RENDER_NODE + number - 1,
        "max_engine_clk_fcompute": model.clock // 1000,
        "num_xcc": model.xcc_count,
    }


def gfx_target_version(processor: str) -> int:
    """The number that the driver gives a processor: gfx90a is 9.0.10, so 90010."""
    digits = processor.removeprefix("gfx")
    return int(digits[:-2]) * 10000 + int(digits[-2], 16) * 100 + int(digits[-1], 16)
