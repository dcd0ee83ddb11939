"""Importing this module registers the meaning of every instruction."""

from __future__ import annotations

from hipgraph_cb.virtual.isa import (
    address_alu,
    buffer_memory,
    carry,
    compare,
    conversion,
    division,
    float_alu,
    global_atomics,
    global_memory,
    integer_alu,
    lane_exchange,
    lane_ops,
    lds,
    lds_atomics,
    matrix,
    packed,
    program_control,
    scalar_alu,
    scalar_memory,
)

MODULES = (
    buffer_memory,
    address_alu,
    scalar_alu,
    scalar_memory,
    program_control,
    float_alu,
    integer_alu,
    conversion,
    compare,
    carry,
    division,
    lane_ops,
    packed,
    global_memory,
    global_atomics,
    lds,
    lds_atomics,
    lane_exchange,
    matrix,
)
