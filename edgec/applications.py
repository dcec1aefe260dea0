"""From a build's settings to the facts that interfaces for applications are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from edgec.config import BuildConfig
from edgec.emit.apps.app import App, Picture, refuse_sizes, tensors
from edgec.errors import Problem, UsageError
from edgec.program.program import Port, Program
from edgec.quant.preprocess import Preprocess
from edgec.targets import Target

MOST_LABELS = 65536
MOST_LABEL_BYTES = 1 << 20  # of the whole file


def describe_app(program: Program, target: Target, config: BuildConfig, files: Mapping[str, bytes]) -> App:
    """The package `files`, made of a planned Program, as an application's developer sees it."""
    refuse_sizes(program, target.form or "an application")
    manifest = json.loads(files["manifest.json"])
    return App(
        program.name,
        config.precision,
        tensors(program.inputs),
        tensors(program.outputs),
        manifest["arena"]["bytes"],
        manifest["arena"]["scratch_bytes_per_thread"],
        manifest["weights"]["bytes"],
        picture_of(program.inputs, config),
        None,
        read_labels(config),
        manifest.get("gpu", {}).get("api", "") if manifest.get("gpu", {}).get("shaders") else "",
    )


def picture_of(inputs: Sequence[Port], config: BuildConfig) -> Picture | None:
    """What [preprocess] says of the one input that pictures fit; None without that table."""
    if not config.preprocess:
        return None
    how = Preprocess.parse(config.preprocess)
    for port in tensors(inputs):
        if len(port.shape) != 4:
            continue
        layout = "nhwc" if config.fuse_preprocess or config.io_layout == "nhwc" else how.layout_of(port.shape)
        height, width = port.shape[1:3] if layout == "nhwc" else port.shape[2:4]
        multiply, add = how.affine()
        color = "rgb" if config.fuse_preprocess and how.color == "bgr" else how.color
        return Picture(
            port.name, height, width, how.channels, layout, config.fuse_preprocess, color, how.resize, how.shorter, how.anchor, how.fill,
            tuple(float(number) for number in multiply), tuple(float(number) for number in add),
        )  # fmt: skip
    return None


def read_labels(config: BuildConfig) -> tuple[str, ...]:
    """The lines of the label file, in UTF-8; empty lines at its end do not count. UsageError where it cannot be one."""
    if config.labels is None:
        return ()
    where = str(config.labels)
    try:
        data = config.labels.read_bytes()
        lines = data.decode("utf-8-sig").rstrip("\r\n").splitlines() if len(data) <= MOST_LABEL_BYTES else []
    except OSError as error:
        raise UsageError(
            f"cannot read the labels: {error.strerror}", where=where, hint="give a text file with one label in a line"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the labels are not UTF-8: {error.reason} at byte {error.start}", where=where, hint="save the file as UTF-8"
        ) from error
    if not 0 < len(lines) <= MOST_LABELS:
        raise UsageError("holds no labels, or too many", where=where, hint="give a text file with one label in a line")
    problems = [Problem("has control characters", f"{where}:{number}") for number, line in enumerate(lines, 1) if not line.isprintable()]
    if problems:
        raise UsageError("the labels cannot be used", problems, hint="give a text file with one label in a line")
    return tuple(lines)
