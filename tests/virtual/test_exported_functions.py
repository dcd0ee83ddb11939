"""What the virtual libraries export does not depend on what the process has imported."""

from __future__ import annotations

import pytest

from hipgraph_cb.virtual.hip import library as hip
from hipgraph_cb.virtual.hip.profile import PROFILES
from hipgraph_cb.virtual.hsa import library as hsa
from hipgraph_cb.virtual.rccl import library as rccl
from hipgraph_cb.virtual.roctx import library as roctx


def in_reverse(functions: dict) -> dict:
    return dict(reversed(functions.items()))


@pytest.mark.parametrize("library", [hsa, rccl, roctx], ids=["hsa", "rccl", "roctx"])
def test_slots_have_one_order_whichever_module_was_imported_first(monkeypatch, library):
    exported = library.exported_functions()
    monkeypatch.setattr(library, "FUNCTIONS", in_reverse(library.FUNCTIONS))
    assert library.exported_functions() == exported


@pytest.mark.parametrize("profile", PROFILES)
def test_slots_of_the_hip_library_have_one_order(profile):
    functions = hip.functions_of(PROFILES[profile])
    assert hip.exported_functions(in_reverse(functions)) == hip.exported_functions(functions)
