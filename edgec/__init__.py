"""edgec: turns a trained ONNX model into code that a device runs by itself."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# ONNX Runtime's wheels report to their maker from their import on, unless they are told not to.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

if TYPE_CHECKING:
    from edgec.api import Bench, Deployed, Verified, bench, build, compare, deploy, diagnose, inspect, plan, quantize, run, verify
    from edgec.base.errors import EdgecError
    from edgec.base.version import __version__
    from edgec.package import Package
    from edgec.settings.config import BuildConfig, configure

__all__ = [
    "Bench",
    "BuildConfig",
    "Deployed",
    "EdgecError",
    "Package",
    "Verified",
    "__version__",
    "bench",
    "build",
    "compare",
    "configure",
    "deploy",
    "diagnose",
    "inspect",
    "plan",
    "quantize",
    "run",
    "verify",
]

_HOMES = {
    "BuildConfig": "settings.config",
    "configure": "settings.config",
    "EdgecError": "base.errors",
    "Package": "package",
    "__version__": "base.version",
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that one room can be imported without all the others."""
    if name not in __all__:
        raise AttributeError(f"module 'edgec' has no attribute {name!r}")
    return getattr(import_module(f"edgec.{_HOMES.get(name, 'api')}"), name)
