"""Shared by the tests of application forms."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def _builds(kept_builds: None) -> None:
    """They are about packages, not about builds."""
