"""Memory shared with other libraries: DLPack and the array interfaces, in both directions."""

import numpy as np

from hipgraph_cb import open_device


class OtherLibrary:
    """An array of another library: PyTorch, CuPy and JAX offer the same two methods on an AMD GPU."""

    def __init__(self, array: object) -> None:
        self.__dlpack__ = array.__dlpack__  # type: ignore[attr-defined]
        self.__dlpack_device__ = array.__dlpack_device__  # type: ignore[attr-defined]


def main() -> None:
    with open_device() as device:
        ours = device.asarray(np.arange(12, dtype=np.float32).reshape(3, 4))
        theirs = OtherLibrary(ours)
        shared = device.asarray(theirs)  # no copy: the same memory with its shape and type
        with device.command_buffer() as cb:
            cb.fill_buffer(shared[1], np.float32(7))
        cb.replay()
        print(np.from_dlpack(ours, device="cpu"))  # a copy on the host


if __name__ == "__main__":
    main()
