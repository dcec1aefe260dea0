"""Graphs out, as ONNX models that ONNX Runtime and others run."""

from edgec.export.onnx_file import save, to_onnx

__all__ = ["save", "to_onnx"]
