"""ONNX files in, canonical Graphs out."""

from edgec.frontend.load import Imported, from_proto, load_model

__all__ = ["Imported", "from_proto", "load_model"]
