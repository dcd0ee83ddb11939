"""The ten lines everyone starts from: load a code object, record one dispatch, replay it, check the result."""

import numpy as np

from hipgraph_cb import open_device, samples


def main() -> None:
    with open_device() as device:
        saxpy = device.load(samples.path("saxpy", device.target))["saxpy"]
        x = device.from_host(np.arange(1024, dtype=np.float32))
        y = device.from_host(np.ones(1024, dtype=np.float32))
        with device.command_buffer(label="saxpy") as cb:
            cb.dispatch(saxpy, workgroup_count=4, workgroup_size=256, args=[y, x, 2.0, 1024])
        cb.replay()
        result = y.to_host(np.float32)
        np.testing.assert_array_equal(result, 2 * np.arange(1024, dtype=np.float32) + 1)
        print(f"y[:4] = {result[:4]} on {device.name}{' (virtual)' if device.is_virtual else ''}")


if __name__ == "__main__":
    main()
