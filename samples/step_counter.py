"""A number that changes from replay to replay: one recorded step, replayed with a counter and a length of its own."""

import numpy as np

from hipgraph_cb import Slot, open_device, samples


def main() -> None:
    with open_device() as device:
        saxpy = device.load(samples.path("saxpy", device.target))["saxpy"]
        x = device.from_host(np.ones(1024, dtype=np.float32))
        y = device.from_host(np.zeros(1024, dtype=np.float32))
        with device.command_buffer(label="step", binding_capacity=3) as cb:
            step = Slot(0, type="f32", name="step")
            length = Slot(1, type="u32", name="length")
            groups = Slot(2, type="u32", name="groups")
            cb.dispatch(saxpy, groups, 256, args=[y, x, step, length])
        for number in range(1, 5):
            length_now = 256 * number
            cb.replay(bindings={"step": number, "length": length_now, "groups": number})
        result = y.to_host(np.float32)
        np.testing.assert_array_equal(result, np.repeat(np.array([10, 9, 7, 4], np.float32), 256))
        print(f"each quarter of y: {result[::256]} on {device.name}{' (virtual)' if device.is_virtual else ''}")


if __name__ == "__main__":
    main()
