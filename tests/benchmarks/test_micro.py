"""benchmarks/micro.py counts what the networks of MLPerf Tiny take, whose shapes are as published, and docs/micro.md says so."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import onnx
import pytest

import edgec
from tests.benchmarks.test_peers import ROOT, script
from tests.conftest import require

MACS = {"keywords": 2_656_768, "persons": 7_489_664, "images": 12_501_632, "machines": 264_192}


@pytest.fixture
def micro(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return script("micro")


def test_networks_multiply_as_often_as_those_of_mlperf_tiny(micro: ModuleType, tmp_path: Path) -> None:
    for name, path in micro.models([], tmp_path):
        onnx.checker.check_model(onnx.load(path), full_check=True)
        assert edgec.inspect(path).macs == MACS[name]


def test_a_network_is_counted(
    micro: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require("clang", "ld.lld", "qemu-system-arm")
    monkeypatch.setattr(micro, "NETWORKS", {"machines": micro.NETWORKS["machines"]})
    monkeypatch.setattr(sys, "argv", ["micro.py", "--work", str(tmp_path), "--target", "cortex-m4", "cortex-m55"])
    micro.main()
    _, _, *rows = capsys.readouterr().out.splitlines()
    small, large = (
        re.fullmatch(r"\| machines \| ([\w-]+) \| (\w+) \| ([\d.]+) \| ([\d.]+) \| [\d.]+ \| ([\d.]*) ?\|", row) for row in rows
    )
    assert small and small.groups()[:2] == ("cortex-m4", "dsp") and float(small[4]) < 2 and small[5] == "1.03"
    assert large and large.groups()[:2] == ("cortex-m55", "helium") and float(large[4]) < 0.3 and large[5] == ""


def test_the_page_has_all_networks(micro: ModuleType) -> None:
    page = (ROOT / "docs" / "micro.md").read_text(encoding="utf-8")
    for name, rate in micro.CMSIS_NN.items():
        (row,) = re.findall(rf"^\| {name} \| (.*) \|$", page, re.MULTILINE)
        macs, *_, published = row.split(" | ")
        assert float(macs) == pytest.approx(MACS[name] / 1e6, abs=0.01)
        assert float(published) == pytest.approx(micro.CMSIS_NN_HZ / rate / 1e6, abs=0.1)
