"""`edgec cache`, and what builds find in it: another build's package, byte by byte, and nothing of a key's passphrase."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgec.cli.main import main


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("EDGEC_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "edgec" / "build"


def said(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main([*words, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_it_is_shown_and_cleaned(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(capsys, "cache")
    assert (found["folder"], found["entries"], found["bytes"], found["removed"]) == (str(cache), 0, 0, False)
    (cache / "entry").write_bytes(bytes(10))
    assert said(capsys, "cache")["bytes"] == 10
    assert said(capsys, "cache", "clean")["removed"] is True and not list(cache.iterdir())


def test_none_is_shown_where_it_is_off(cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEC_CACHE", "no")
    assert main(["cache"]) == 0 and "the cache is off" in capsys.readouterr().out and not cache.exists()
