"""What the tests of instructions share."""

import pytest

from hipgraph_cb.virtual.isa.core import lane_loops


@pytest.fixture(params=["machine code", "numpy"])
def each_way(request, monkeypatch):
    """Once with the machine code of lane_loops.py, where it can run, and once with numpy alone."""
    if request.param == "numpy":
        monkeypatch.setattr(lane_loops, "LOOPS", None)
