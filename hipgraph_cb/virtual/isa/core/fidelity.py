"""What the virtual GPU does unlike hardware, in one place: shown by `hipgraph-cb doctor`."""

from __future__ import annotations

import re
from types import MappingProxyType

_APPROXIMATE = re.compile(
    r"v_(exp|log|rcp|rsq|sqrt|sin|cos)(_legacy|_iflag)?_f(16|32|64)|v_(s?mf(ma|mac)|wmma)_b?f.*|v_cvt_sr_(fp|bf)8_f32"
    r"|v_dot2c?_f32_b?f16|t?buffer_(load|store)_format_d16.*|s_memtime|s_memrealtime|s_sendmsg_rtn_b64|s_getreg_b32"
)


def is_approximate(mnemonic: str) -> bool:
    """Whether the result may differ from hardware's; why is in `DIFFERENCES`."""
    return _APPROXIMATE.fullmatch(mnemonic) is not None


DIFFERENCES = MappingProxyType(
    {
        "transcendentals": (
            "v_exp, v_log, v_rcp, v_rsq, v_sqrt, v_sin and v_cos are computed by numpy and rounded to the format; "
            "hardware reads 1-ulp tables, so the last bit may differ"
        ),
        "stochastic rounding": (
            "v_cvt_sr_* adds the upper 20 (bf8: 21) bits of the random number to the bits that the format drops and "
            "rounds towards zero; below the smallest normal number hardware may place these bits otherwise"
        ),
        "formatted buffers": (
            "16-bit components are rounded to nearest even; a store of fewer components than the element has is a fault"
        ),
        "buffer offsets": (
            "an offset register and the instruction's offset are added without a limit of 32 bits, so a negative "
            "number in the register is out of range whatever is added to it; no document says what hardware does"
        ),
        "half dot products": "v_dot2_f32_f16, v_dot2c_f32_f16 and those of bf16 round after each product and each sum",
        "matrix instructions": (
            "sums are made in single precision (double for f64) in an order of their own; hardware rounds in between. "
            "xf32 inputs are rounded to nearest even with ten bits of fraction, which no document says of hardware"
        ),
        "timing": "s_memtime, s_memrealtime and S_GETREG clocks count readings, not cycles; event times are host times",
        "alignment": "plain loads and stores need no alignment (unaligned mode); a misaligned atomic is a fault",
        "local memory bounds": (
            "outside the workgroup's LDS a read gives zero and a write is dropped, to the byte; hardware allots LDS in "
            "steps of 512 bytes, all of which a kernel may use. HIPGRAPH_CB_VIRTUAL_LDS_BOUNDS=fault makes it a fault"
        ),
        "events in graphs": (
            "a graph waits for the events of its wait nodes before it starts, and an event that it records means "
            "the whole launch until the node has run; on hardware only the nodes behind wait"
        ),
        "faults": "a fault ends the launch and what is behind it on the stream, and the device stays usable; on "
        "hardware the process often has to end",
        "interrupts": "Ctrl-C during a wait stops the running kernel, which ends with code 702; hardware runs on",
        "HSA queues": (
            "packets that nothing orders start in a seeded order, within a window of 16; the read index moves on when "
            "a packet is done; a failed packet makes its queue inactive, with the read index at that packet"
        ),
        "peer access": (
            "kernels reach the memory of every GPU, whatever was allowed with hsa_amd_agents_allow_access or "
            "hipDeviceEnablePeerAccess; memory that is mapped into a reserved range may be read and written by all "
            "GPUs once any agent may access it; HIPGRAPH_CB_VIRTUAL_PEER_ACCESS=none makes the libraries say that GPUs "
            "cannot access each other's memory"
        ),
        "host memory": (
            "kernels reach device, pinned and managed memory, and registered memory by its device pointer, which leads "
            "to a copy that is brought up to date before a kernel and taken over after it"
        ),
        "fresh memory": "device memory, LDS and registers start as 0xCD bytes; freed memory reads as a fault",
        "order": "workgroups run in chunks, and lanes of a wave store in lane order when they name one address",
        "residency": (
            "every workgroup gets its turn while others wait for it, however many there are; hardware starts only as "
            "many as fit, so a grid that waits for all of its workgroups may hang there"
        ),
        "status registers": (
            "S_GETREG of STATUS gives SCC, EXECZ, VCCZ, IN_TG and VALID, of TRAPSTS, HW_ID and XCC_ID zero; no "
            "exception is ever raised and no trap handler exists, so s_trap is a fault"
        ),
        "overflow mode": "MODE.FP16_OVFL is obeyed by conversions to 8-bit floats; f16 arithmetic under it is a fault",
    }
)
