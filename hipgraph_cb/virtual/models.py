"""The facts that the virtual GPUs report: one row per processor whose code is executed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GpuModel:
    """The facts of one processor for HIP's device properties. Clocks in kHz, sizes in bytes.

    Attributes:
        features: the target ID's features as AMD's runtime names them.
    """

    processor: str
    name: str
    major: int
    minor: int
    features: str = ""
    compute_units: int = 64
    wavefront_size: int = 64
    clock: int = 1_700_000
    memory_clock: int = 1_200_000
    memory_bus_bits: int = 4096
    l2_cache: int = 4 << 20
    lds: int = 65536
    registers_per_block: int = 65536
    threads_per_compute_unit: int = 2048
    pci_chip: int = 0
    xcc_count: int = 1

    @property
    def has_arrays(self) -> bool:
        """Whether AMD's runtime makes arrays for it: it has image instructions, which CDNA has not."""
        return self.major > 9


MODELS = {
    model.processor: model
    for model in (
        GpuModel(
            "gfx942",
            "Virtual AMD Instinct MI300X",
            9,
            4,
            ":sramecc+:xnack-",
            304,
            clock=2_100_000,
            memory_clock=1_300_000,
            memory_bus_bits=8192,
            pci_chip=0x74A1,
            xcc_count=8,
        ),
        GpuModel("gfx1100", "Virtual AMD Radeon RX 7900 XTX", 11, 0, "", 48, 32, clock=2_500_000, memory_bus_bits=384),
        GpuModel("gfx1101", "Virtual AMD Radeon RX 7800 XT", 11, 0, "", 30, 32, clock=2_430_000, memory_bus_bits=256),
        GpuModel("gfx1200", "Virtual AMD Radeon RX 9060 XT", 12, 0, "", 16, 32, memory_bus_bits=128),
        GpuModel("gfx1201", "Virtual AMD Radeon RX 9070 XT", 12, 0, "", 32, 32, memory_bus_bits=256),
    )
}
