"""A clang offload bundle, made by hand."""

from __future__ import annotations

import struct


def bundle_of(**code_objects: bytes) -> bytes:
    """A plain offload bundle: magic, count, a row (offset, size, name) each, and the files."""
    rows = [("host-x86_64-unknown-linux--", b"")]
    rows += [(f"hipv4-amdgcn-amd-amdhsa--{target}", data) for target, data in code_objects.items()]
    place = 4096
    head, body = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(rows)), b""
    for name, data in rows:
        head += struct.pack("<QQQ", place + len(body), len(data), len(name)) + name.encode()
        body += data.ljust(-(-len(data) // 4096) * 4096, b"\0")
    return head.ljust(place, b"\0") + body
