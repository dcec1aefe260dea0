"""Files that another library exports in a process of its own. The library is a stand-in here, since the real ones weigh gigabytes:
benchmarks/exporters.py does the same with them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import edgec
from edgec.base.errors import ModelError
from edgec.exporters import files
from edgec.exporters.marks import mark
from tests.calling import DIGITS

HEAD = b"\x1c\0\0\0TFL3"
# what the stand-in does with a file is in the file: it writes the example model, fails or stays
CONVERT = f"""
import os, shutil, sys, time
assert sys.argv[1] == "--tflite" and sys.argv[3] == "--output" and "SECRET_TOKEN" not in os.environ and os.listdir() == []
content = open(sys.argv[2], "rb").read()
if b"fail" in content:
    print("\\x1b[31mno operator\\x1b[0m called Frobnicate", file=sys.stderr)
    sys.exit(1)
if b"nothing" not in content:
    shutil.copy({str(DIGITS / "digits.onnx")!r}, sys.argv[4])
open({{log!r}}, "a").write(f"{{{{os.getpid()}}}} exported\\n")
if b"stay" in content:
    time.sleep(600)
"""
KERAS = f"""
import shutil
class Network:
    inputs = []
    def __call__(self, inputs): pass
    def export(self, path, format): shutil.copy({str(DIGITS / "digits.onnx")!r}, path)
class saving:
    load_model = staticmethod(lambda path: Network())
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the stand-ins log that they were run; a cache of this test's own."""
    place, log = tmp_path / "site", tmp_path / "log"
    for name, module, content in (
        ("tf2onnx", "convert.py", CONVERT.format(log=str(log))), ("tensorflow", "__init__.py", ""), ("keras", "__init__.py", KERAS),
    ):  # fmt: skip
        facts = place / f"{name}-1.2.dist-info"
        (place / name).mkdir(parents=True)
        (place / name / "__init__.py").touch()
        (place / name / module).write_text(content)
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (facts / "top_level.txt").write_text(f"{name}\n")
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", f"{place}{os.pathsep}{Path(edgec.__file__).parents[1]}")
    monkeypatch.setenv("SECRET_TOKEN", "1234")
    monkeypatch.delenv("EDGEC_CACHE", raising=False)
    monkeypatch.setattr(files, "_made", {})
    yield log


def _lite(folder: Path, words: str = "", name: str = "it's a net.tflite") -> Path:
    path = folder / name
    path.write_bytes(HEAD + bytes(64) + words.encode())
    return path


def test_a_file_is_exported_once_and_says_where_it_comes_from(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _lite(tmp_path)
    package = edgec.build(path, precision="fp32", out=tmp_path / "package", compile=False)
    assert package.manifest.name == "it_s_a_net"
    assert package.manifest.card["exported_from"].startswith("a TensorFlow Lite model, sha256 ")
    assert package.manifest.card["exported_from"].endswith(", by tf2onnx 1.2, tensorflow 1.2")
    monkeypatch.setattr(files, "_made", {})  # as another program
    again = edgec.inspect(path)
    assert again.parameters == edgec.inspect(DIGITS / "digits.onnx").parameters
    found = edgec.quantize(_lite(tmp_path, name="it's a net.tflite"), calib=DIGITS / "calibration.npz", samples=2)
    assert found.graph.nodes and library.read_text().count("exported") == 1
    edgec.inspect(_lite(tmp_path, "another content"))
    edgec.inspect(_lite(tmp_path, "third"), cache=False)
    assert library.read_text().count("exported") == 3


def test_the_command_line_takes_the_same_files_and_leaves_nothing(library: Path, tmp_path: Path) -> None:
    path, scratch = _lite(tmp_path), tmp_path / "scratch"
    scratch.mkdir()
    said = subprocess.run(
        [sys.executable, "-m", "edgec", "build", str(path), "--precision", "fp32", "-o", "package", "--json", "--no-compile"],
        cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["package"] == "package"
    assert list(scratch.iterdir()) == []


def test_what_the_exporter_says_is_the_error(library: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        edgec.build(_lite(tmp_path, "fail"), precision="fp32")
    assert "is a TensorFlow Lite model, and tf2onnx cannot export it" in str(caught.value)
    assert [problem.what for problem in caught.value.problems] == ["no operator called Frobnicate"]
    with pytest.raises(ModelError, match="cannot export it"):
        edgec.inspect(_lite(tmp_path, "nothing"))
    with pytest.raises(ModelError, match="tf2onnx takes longer than 1 s"):
        edgec.inspect(_lite(tmp_path, "stay"), budget="seconds=1")


def test_a_library_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"this exports it; edgec does so itself where edgec\[tflite\] is installed\n") as caught:
        edgec.build(_lite(tmp_path), precision="fp32")
    assert "tf2onnx.convert" in caught.value.problems[0].what


def test_what_may_run_code_is_loaded_where_it_is_trusted_alone(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.weights.h5", b"x")
    with pytest.raises(ModelError, match="with --trust-model, since loading it may run code"):
        edgec.inspect(path)
    (tmp_path / "edgec.toml").write_text("[build]\ntrust_model = true\n")
    said = subprocess.run([sys.executable, "-m", "edgec", "inspect", str(path)], capture_output=True, text=True)
    assert said.returncode == 2 and "lets a model's file run code" in said.stderr
    assert edgec.inspect(path, trust_model=True).parameters
    monkeypatch.setattr(files, "_made", {})
    assert edgec.inspect(path).parameters  # what was made of the very same file


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="of POSIX")
def test_an_exporter_ends_with_who_started_it(library: Path, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    process = subprocess.Popen([sys.executable, "-m", "edgec", "inspect", str(_lite(tmp_path, "stay"))], stdout=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not library.exists() or not library.read_text():
        assert time.monotonic() < until
        time.sleep(0.05)
    process.kill()
    process.wait()
    exporter = int(library.read_text().split()[0])
    while _lives(exporter):
        assert time.monotonic() < until
        time.sleep(0.05)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def test_large_tensors_beside_the_file_stay_there(tmp_path: Path) -> None:
    path, plain, copy = tmp_path / "a.onnx", *(onnx.load(str(DIGITS / "digits.onnx")) for _ in range(2))
    onnx.save(copy, str(path), save_as_external_data=True, location="a.data", size_threshold=0)
    mark(path, "somewhere")
    marked = onnx.load(str(path))
    assert {item.key: item.value for item in marked.metadata_props}["exported_from"] == "somewhere"
    for found, wanted in zip(marked.graph.initializer, plain.graph.initializer, strict=True):
        np.testing.assert_array_equal(onnx.numpy_helper.to_array(found), onnx.numpy_helper.to_array(wanted))
