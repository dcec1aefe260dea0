"""edgec: turns a trained ONNX model into code that a device runs by itself."""

from edgec.api import build, compare, inspect, quantize, run
from edgec.config import BuildConfig
from edgec.errors import EdgecError
from edgec.package import Package
from edgec.version import __version__

__all__ = ["BuildConfig", "EdgecError", "Package", "__version__", "build", "compare", "inspect", "quantize", "run"]
