"""Collectives: operations between ranks, each of which has a device, and what each rank's kernel does of them.

Pure: neither a backend nor a runtime is known here. The kernels read and write the memory of the other devices.
"""
