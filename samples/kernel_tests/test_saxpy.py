"""Your own kernel tests: pip install hipgraph_cb pytest, then `pytest samples/kernel_tests`. No GPU is needed."""

import numpy as np
import pytest

from hipgraph_cb import samples

SAXPY = samples.path("saxpy", "gfx942")


@pytest.mark.hipgraph_target("gfx942")
@pytest.mark.parametrize("count", [1, 255, 256, 1000])
def test_saxpy_agrees_with_numpy(run_kernel, count):
    generator = np.random.default_rng(count)
    x, y = generator.random((2, count), np.float32)
    result, _ = run_kernel(SAXPY, "saxpy", y, x, 2.0, count, workgroup_count=-(-count // 256), workgroup_size=256)
    np.testing.assert_allclose(result, 2 * x + y, rtol=1e-6)


def test_nothing_is_written_past_the_last_element(run_kernel):
    x, y = np.ones(256, np.float32), np.zeros(256, np.float32)
    result, _ = run_kernel(SAXPY, "saxpy", y, x, 1.0, 100, workgroup_count=1, workgroup_size=256)
    assert result.tolist() == [1.0] * 100 + [0.0] * 156
