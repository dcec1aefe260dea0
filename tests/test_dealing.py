"""Tests are dealt out to workers: none is lost, and each worker's part begins with long ones."""

from __future__ import annotations

import pytest

from tests.conftest import dealt


@pytest.mark.parametrize("workers", [1, 2, 4, 7])
@pytest.mark.parametrize(("long", "others"), [(0, 0), (0, 9), (3, 100), (9, 100), (9, 2)])
def test_every_test_is_dealt_once_and_long_ones_begin(long: int, others: int, workers: int) -> None:
    first, rest = [f"long {n}" for n in range(long)], [f"other {n}" for n in range(others)]
    found = dealt(first, rest, workers)
    assert sorted(found) == sorted(first + rest)
    place, left = 0, len(found)
    for worker in range(min(workers, long) if long <= others else 0):
        assert found[place].startswith("long")
        place, left = place + left // (workers - worker), left - left // (workers - worker)
    assert [name for name in found if name in rest] == rest  # neighbours, which share fixtures, stay together
