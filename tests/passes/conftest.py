"""`pytest tests/passes --bless` writes what the rewrites give into the lower halves of the .eir files; read the diff."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite the expected halves of tests/passes/rewrites/*.eir")


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--bless", default=False))
