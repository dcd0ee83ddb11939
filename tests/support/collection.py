"""Collections of garbage whose effect a test looks at."""

import gc

from hipgraph_cb.backend.collected import release_collected


def collect() -> None:
    """Collect, and release what was found as the next call to a device would."""
    gc.collect()
    release_collected()
