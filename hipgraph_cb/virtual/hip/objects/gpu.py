"""One virtual device of the HIP runtime."""

from __future__ import annotations

from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.virtual.hip.objects.stream import Stream
from hipgraph_cb.virtual.models import GpuModel
from hipgraph_cb.virtual.worker import Worker


class Gpu:
    """A device: its model, its worker, its streams.

    Attributes:
        launch_block: device memory that holds the packet and the arguments of the dispatch that runs; 0 before.
        launch_block_size: its size in bytes.
        streams: all live streams, the null stream among them.
    """

    def __init__(self, ordinal: int, target: TargetId, model: GpuModel, worker: Worker) -> None:
        self.ordinal = ordinal
        self.target = target
        self.model = model
        self.worker = worker
        self.null_stream = Stream(self, is_null=True)
        self.streams: set[Stream] = {self.null_stream}
        self.flags = 1  # hipDeviceScheduleSpin
        self.peers: set[int] = set()
        self.launch_block = 0
        self.launch_block_size = 0
