"""edgec: turns a trained ONNX model into code that a device runs by itself."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# ONNX Runtime's wheels report to their maker from their import on, unless they are told not to.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

if TYPE_CHECKING:
    from edgec.base.errors import EdgecError
    from edgec.base.version import __version__
    from edgec.package import Package
    from edgec.provenance.verify import Verified
    from edgec.settings.config import BuildConfig, configure
    from edgec.verbs.bench import Bench, bench
    from edgec.verbs.build import build, plan
    from edgec.verbs.compare import compare
    from edgec.verbs.deploy import Deployed, deploy
    from edgec.verbs.devices import devices
    from edgec.verbs.diagnose import diagnose
    from edgec.verbs.init import init
    from edgec.verbs.inspect import inspect
    from edgec.verbs.quantize import quantize
    from edgec.verbs.report import report
    from edgec.verbs.run import run
    from edgec.verbs.tune import Tuned, tune
    from edgec.verbs.verify import verify

__all__ = [
    "Bench",
    "BuildConfig",
    "Deployed",
    "EdgecError",
    "Package",
    "Tuned",
    "Verified",
    "__version__",
    "bench",
    "build",
    "compare",
    "configure",
    "deploy",
    "devices",
    "diagnose",
    "init",
    "inspect",
    "plan",
    "quantize",
    "report",
    "run",
    "tune",
    "verify",
]

# name -> the module that has it, where that is not the verb's of this name
_HOMES = {
    "Bench": "verbs.bench",
    "BuildConfig": "settings.config",
    "Deployed": "verbs.deploy",
    "EdgecError": "base.errors",
    "Package": "package",
    "Tuned": "verbs.tune",
    "Verified": "provenance.verify",
    "__version__": "base.version",
    "configure": "settings.config",
    "plan": "verbs.build",
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that one room can be imported without all the others."""
    if name not in __all__:
        raise AttributeError(f"module 'edgec' has no attribute {name!r}")
    return getattr(import_module(f"edgec.{_HOMES.get(name, f'verbs.{name}')}"), name)
