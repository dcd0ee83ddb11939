"""A pipeline with barriers, recorded once and replayed with new inputs: update -> smooth -> block_sum -> copy.

The host bytes of an `update_buffer` belong to the recording; what changes from replay to replay is written into a
buffer with `write`.
"""

import numpy as np

from hipgraph_cb import open_device, samples

COUNT = 10_000
WORKGROUPS = -(-COUNT // 256)


def expected(values: np.ndarray) -> np.ndarray:
    """The same pipeline in numpy: a moving average of three, then one sum for every 256 values."""
    padded = np.pad(values, 1, mode="edge").astype(np.float64)
    smooth = 0.25 * padded[:-2] + 0.5 * padded[1:-1] + 0.25 * padded[2:]
    return np.pad(smooth, (0, WORKGROUPS * 256 - COUNT)).reshape(WORKGROUPS, 256).sum(axis=1)


def main() -> None:
    generator = np.random.default_rng(1)
    with open_device() as device:
        executable = device.load(samples.path("pipeline", device.target))
        values = device.allocate(4 * COUNT, label="values")
        smooth = device.allocate(4 * COUNT, label="smooth")
        sums = device.allocate(4 * WORKGROUPS, label="sums")
        result = device.allocate(4 * (WORKGROUPS + 1), label="result")
        with device.command_buffer(label="pipeline") as cb:
            cb.update_buffer(result, np.float32([WORKGROUPS]))  # a header in front of the sums
            cb.dispatch(
                executable["smooth"], workgroup_count=WORKGROUPS, workgroup_size=256, args=[smooth, values, COUNT]
            )
            cb.execution_barrier()
            cb.dispatch(executable["block_sum"], workgroup_count=WORKGROUPS, args=[sums, smooth, COUNT])
            cb.execution_barrier()
            cb.copy_buffer(sums, result, target_offset=4)
        print(cb.recording.to_dot())
        for replay in range(3):
            host_values = generator.standard_normal(COUNT).astype(np.float32)
            values.write(host_values)
            cb.replay()
            header, *found = result.to_host(np.float32)
            np.testing.assert_equal(header, WORKGROUPS)
            np.testing.assert_allclose(found, expected(host_values), rtol=1e-4, atol=1e-4)
            print(f"replay {replay}: {WORKGROUPS} sums agree with numpy")


if __name__ == "__main__":
    main()
