import pytest
from support.fakes import FakeBuffer, FakeLimits

from hipgraph_cb.recording.command_buffer import CommandBuffer


@pytest.fixture
def cb() -> CommandBuffer:
    """A command buffer that records, with four binding slots."""
    return CommandBuffer(label="step", binding_capacity=4, limits=FakeLimits()).begin()


@pytest.fixture
def x() -> FakeBuffer:
    return FakeBuffer(4096, "x")


@pytest.fixture
def y() -> FakeBuffer:
    return FakeBuffer(4096, "y")
