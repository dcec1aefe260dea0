"""From a build's settings to the facts that interfaces for applications are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from edgec.config import BuildConfig
from edgec.emit.apps.app import App, Picture, Task, refuse_sizes, tensors
from edgec.program.program import Port, Program
from edgec.quant.preprocess import Preprocess
from edgec.targets import Target


def describe_app(
    program: Program, target: Target, config: BuildConfig, files: Mapping[str, bytes], task: Task | None = None, labels: Sequence[str] = ()
) -> App:
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
        task,
        tuple(labels),
        manifest.get("gpu", {}).get("api", "") if manifest.get("gpu", {}).get("shaders") else "",
        manifest.get("card", {}),
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
            how.interpolation,
        )  # fmt: skip
    return None
