"""A pytest plugin for CI (`-p tests.rest`): EDGEC_DONE names a file of the tests that passed in earlier runs; this run leaves them out, but
for those that were sampled there, and adds those that pass now."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DONE = Path(os.environ["EDGEC_DONE"])
passed: list[str] = []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    done = set(DONE.read_text(encoding="utf-8").splitlines()) if DONE.exists() else set()
    ended = {item for item in items if item.nodeid in done and not item.get_closest_marker("sampled")}
    config.hook.pytest_deselected(items=[item for item in items if item in ended])
    items[:] = [item for item in items if item not in ended]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.passed:
        passed.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The controller hears of all tests; workers, which collect by themselves, must not see the file change."""
    if not hasattr(session.config, "workerinput"):
        with DONE.open("a", encoding="utf-8") as stream:
            stream.writelines(f"{name}\n" for name in passed)
