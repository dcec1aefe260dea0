"""What a project begins with: settings, an inventory and a workflow, commented; nothing that is there already is touched."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edgec.base.errors import UsageError
from edgec.base.output import write_new

PLACES = {"settings": Path("edgec.toml"), "inventory": Path("devices.yaml"), "workflow": Path(".github/workflows/edgec.yml")}
PACKAGE = "package"
_SETTINGS = """# Settings of `edgec build`: a flag or an EDGEC_* variable wins over each; `edgec build --help` lists them all.
[build]
target = "host"  # a processor family or a board of `edgec targets`
{precision}
out = "{package}"

# How pictures become inputs, where calib is a folder of them: (pixel * scale - mean) / std, after they got the model's size.
# [preprocess]
# resize = "crop"  # or stretch, letterbox, none
# shorter = 256  # scale the shorter side to this, then cut out the middle
# color = "rgb"
# scale = 0.00392156862745098  # 1 / 255
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
        with:
          submodules: true
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      # edgec is installed from its sources: have a clone of them in the folder edgec, best as a submodule of the commit that you tried.
      - run: pip install ./edgec
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

    data: samples, which make it an INT8 package. UsageError, before anything is written, for a model or data that are named and not there,
    for names that a workflow cannot hold, and where something else than a file is in the way.
    """
    folder, model = Path(folder), Path(model)
    for place in (model, *([Path(data)] if data is not None else [])):
        if place != Path("model.onnx") and not (folder / place).exists():
            raise UsageError("no such file", where=str(folder / place), hint="give the path of the ONNX file, and of samples with --data")
    named = _word(model)
    texts = {path: text.encode() for path, text in _texts(named, None if data is None else _word(Path(data))).items()}
    for path in texts:
        _check_place(folder, path)
    written = [path for path, content in texts.items() if not (folder / path).exists() and write_new(folder / path, content)]
    return Started(tuple(written), tuple(path for path in texts if path not in written), shlex.join(["edgec", "build", named]))


def _word(path: Path) -> str:
    """The path as an argument of commands, which no workflow takes for anything else."""
    word = path.as_posix()
    if not word.isprintable() or "${{" in word:
        raise UsageError("is a name that a workflow cannot hold", where=ascii(word), hint="call the file with letters, digits, - and _")
    return f"./{word}" if word.startswith("-") else word


def _check_place(folder: Path, path: Path) -> None:
    """UsageError where a file cannot be kept or written: something else is there, or a folder on the way leads elsewhere."""
    for part in [folder / part for part in reversed(path.parents[:-1])]:
        if part.is_symlink() or (part.exists() and not part.is_dir()):
            what = "is a link, which may lead out of the project" if part.is_symlink() else "is no folder"
            raise UsageError(what, where=str(part), hint="move it away, or write the files in a folder of their own")
    if os.path.lexists(folder / path) and not (folder / path).is_file():
        raise UsageError("is there, and is no file", where=str(folder / path), hint="move it away")


def _texts(model: str, data: str | None) -> Mapping[Path, str]:
    precision = _FLOAT if data is None else _INT8.format(data=json.dumps(data, ensure_ascii=False))
    samples = [] if data is None else ["--calib", data]  # as given here, whatever an edgec.toml says that was there
    commands = [["edgec", "build", "--config", str(PLACES["settings"]), *samples, "-o", PACKAGE, model]]
    commands += [] if data is None else [["edgec", "compare", model, PACKAGE, "--data", data, "--min-sqnr", "15"]]
    commands += [["edgec", "bench", PACKAGE, "--device", "local", "--max-latency", "100ms", "--accept-noise"]]
    steps = [f"      - run: {json.dumps(shlex.join(command), ensure_ascii=False)}" for command in commands]
    steps.insert(-1, _NOISE)
    return {
        PLACES["settings"]: _SETTINGS.format(precision=precision, package=PACKAGE),
        PLACES["inventory"]: _INVENTORY,
        PLACES["workflow"]: _WORKFLOW.format(steps="\n".join(steps)),
    }
