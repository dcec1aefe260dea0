"""What every GPU that we build for grants."""

from __future__ import annotations

MOST_INVOCATIONS = 256  # of a workgroup, and
MOST_SHARED_BYTES = 16384  # of its shared memory: what the smallest GPU that we build for (a Raspberry Pi's) has
MOST_GROUPS = 65535  # of a dispatch in one dimension: the least that Vulkan grants

Extent = tuple[int, int, int]
