"""The same recording as a HIP graph and as AQL packets: `open_device("hsa")` needs libhsa-runtime64 and no HIP.

A barrier is no packet of its own: it is a bit in the next one. Bindings are written into kernel arguments that are
ready since `end`, so a replay costs the host one copy of the packets.
"""

import numpy as np

from hipgraph_cb import Slot, open_device, samples

COUNT = 10_000


def record(device):
    """y = 2 * x + 1 into whatever the replay binds, and a copy of it."""
    saxpy = device.load(samples.path("saxpy", device.target))["saxpy"]
    x = device.from_host(np.arange(COUNT, dtype=np.float32), label="x")
    y, copy = Slot(0), Slot(1)
    with device.command_buffer(label="step", binding_capacity=2) as cb:
        cb.fill_buffer(Slot(0, 0, 4 * COUNT), np.float32(1))
        cb.execution_barrier()
        cb.dispatch(saxpy, workgroup_count=-(-COUNT // 256), workgroup_size=256, args=[y, x, 2.0, COUNT])
        cb.execution_barrier()
        cb.copy_buffer(Slot(0, 0, 4 * COUNT), copy)
    return cb


def run(backend):
    with open_device(backend) as device:
        cb = record(device)
        results = []
        for _ in range(2):  # other memory at each replay
            buffers = [device.allocate(4 * COUNT) for _ in range(2)]
            cb.replay(bindings=buffers)
            results.append(buffers[1].to_host(np.float32))
        print(f"{backend}: {results[0][:4]} on {device.name}")
        print(cb.program.profile(3).to_text())
        return cb.recording, results


def main() -> None:
    (hip_recording, hip_results), (hsa_recording, hsa_results) = run("hip"), run("hsa")
    expected = 2 * np.arange(COUNT, dtype=np.float32) + 1
    for result in (*hip_results, *hsa_results):
        np.testing.assert_array_equal(result, expected)
    print(f"equal recordings: {hip_recording == hsa_recording}")


if __name__ == "__main__":
    main()
