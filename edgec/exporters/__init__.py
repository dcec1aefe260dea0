"""Models of other libraries: these libraries' own exporters make ONNX files of them, of files in a process of its own."""

from edgec.exporters.given import onnx_path, path_of

__all__ = ["onnx_path", "path_of"]
