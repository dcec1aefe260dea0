"""Where tests call the real ziglang, which is a hundred megabytes to fetch: `make test-all` does."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def need_zig() -> None:
    if find_spec("ziglang") is None:
        pytest.skip("needs ziglang: pip install 'edgec[zig]'")
