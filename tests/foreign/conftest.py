import numpy as np
import pytest

from hipgraph_cb import open_device


@pytest.fixture(scope="session")
def device():
    with open_device("hip") as device:
        yield device


@pytest.fixture
def words(device):
    """A buffer of sixteen words, 0 to 15."""
    return device.from_host(np.arange(16, dtype=np.uint32))


@pytest.fixture
def refused(device):
    """The whole message of what import_buffer refuses."""

    def refused(*arguments, kind=Exception, **options):
        with pytest.raises(kind) as caught:
            device.import_buffer(*arguments, **options)
        return str(caught.value)

    return refused
