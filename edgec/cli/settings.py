"""The flags of a build, made from the table of settings, and the configuration they resolve to."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path

from edgec.config import FLAGS, BuildConfig, resolve


def declare_settings(parser: argparse.ArgumentParser, names: Iterable[str] = tuple(FLAGS)) -> None:
    """Add one flag for each named setting; a missing flag is None, so that the other sources can speak."""
    for name in names:
        setting, flag = FLAGS[name], f"--{name.replace('_', '-')}"
        if name == "compile":
            parser.add_argument("--no-compile", dest="compile", action="store_const", const=False, default=None, help=setting.help)
        elif setting.switch:
            parser.add_argument(flag, dest=name, action="store_const", const=True, default=None, help=setting.help)
        else:
            short = ["-o"] if name == "out" else []
            action = "append" if setting.many else "store"
            parser.add_argument(*short, flag, dest=name, action=action, default=None, metavar=name.upper(), help=setting.help)


def resolve_settings(options: argparse.Namespace) -> BuildConfig:
    """Flags over EDGEC_* over edgec.toml (beside the model, else here) over defaults."""
    flags = {name: getattr(options, name) for name in FLAGS if getattr(options, name, None) is not None}
    beside = options.model.parent
    folder = beside if (beside / "edgec.toml").is_file() else Path()
    known = {f"EDGEC_{name.upper()}" for name in FLAGS}
    return resolve(flags, {key: value for key, value in os.environ.items() if key in known}, folder)
