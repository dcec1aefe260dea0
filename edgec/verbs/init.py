"""What a project begins with: settings, an inventory and a workflow, commented; nothing that is there already is touched."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edgec.base.errors import UsageError

PLACES = {"settings": Path("edgec.toml"), "inventory": Path("devices.yaml"), "workflow": Path(".github/workflows/edgec.yml")}
PACKAGE = "package"
_SETTINGS = """# Settings of `edgec build`: a flag or an EDGEC_* variable wins over each; `edgec build --help` lists them all.
[build]
target = "host"  # a processor family or a board of `edgec targets`
{precision}
out = "{package}"

# How pictures become inputs, where calib is a folder of them:
# [preprocess]
# resize = [224, 224]
# mean = [0.485, 0.456, 0.406]
# std = [0.229, 0.224, 0.225]
"""
_INT8 = """precision = "int8"
calib = {data}  # samples of what the model will see: .npz, .npy or a folder of pictures
# min_sqnr = 20  # dB that the answers keep; layers that keep them from it stay in float"""
_FLOAT = """precision = "fp32"
# For int8, name samples of what the model will see (.npz, .npy or a folder of pictures), in place of the line above:
# precision = "int8"
# calib = "samples.npz\""""
_INVENTORY = """# The boards of `edgec devices`, `edgec deploy` and `edgec bench`; `edgec devices add` adds one.
devices:
  local:
    target: host
    connection: local
  # kitchen:
  #   target: rpi5
  #   connection: ssh
  #   address: raspberrypi.local
  #   user: pi
"""
_WORKFLOW = """# Builds the package on every push, compares it with the model, and fails where answers or speed are not what was promised.
name: edgec
on: [push, pull_request]
permissions:
  contents: read
jobs:
  model:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install edgec
{steps}
"""
_NOISE = "      # A shared runner is never quiet: without --accept-noise its speed would be undecided, which fails."


@dataclass(frozen=True)
class Started:
    """What init() wrote, and what was there already and stayed as it is. following: the command that comes next."""

    written: tuple[Path, ...]
    kept: tuple[Path, ...]
    following: str


def init(model: str | Path = "model.onnx", *, data: str | Path | None = None, folder: str | Path = ".") -> Started:
    """Write edgec.toml, devices.yaml and a workflow for this model into a folder; paths are as seen from there.

    data: samples, which make it an INT8 package. UsageError for a model or data that are named and not there.
    """
    folder, model = Path(folder), Path(model)
    for place in (model, *([Path(data)] if data is not None else [])):
        if place != Path("model.onnx") and not (folder / place).exists():
            raise UsageError("no such file", where=str(folder / place), hint="give the path of the ONNX file, and of samples with --data")
    written, kept = [], []
    for path, text in _texts(model.as_posix(), None if data is None else Path(data).as_posix()).items():
        try:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            with (folder / path).open("x", encoding="utf-8") as stream:
                stream.write(text)
            written.append(path)
        except FileExistsError:
            kept.append(path)
        except OSError as error:
            raise UsageError(f"cannot write: {error.strerror}", where=str(folder / path), hint="choose a folder of your own") from error
    return Started(tuple(written), tuple(kept), shlex.join(["edgec", "build", model.as_posix()]))


def _texts(model: str, data: str | None) -> Mapping[Path, str]:
    precision = _FLOAT if data is None else _INT8.format(data=json.dumps(data, ensure_ascii=False))
    commands = [["edgec", "build", "--config", str(PLACES["settings"]), model]]
    commands += [] if data is None else [["edgec", "compare", model, PACKAGE, "--data", data, "--min-agreement", "0.95"]]
    commands += [["edgec", "bench", PACKAGE, "--device", "local", "--max-latency", "100ms", "--accept-noise"]]
    steps = [f"      - run: {json.dumps(shlex.join(command), ensure_ascii=False)}" for command in commands]
    steps.insert(-1, _NOISE)
    return {
        PLACES["settings"]: _SETTINGS.format(precision=precision, package=PACKAGE),
        PLACES["inventory"]: _INVENTORY,
        PLACES["workflow"]: _WORKFLOW.format(steps="\n".join(steps)),
    }
