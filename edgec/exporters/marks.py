"""What an exported file says of where it comes from."""

from __future__ import annotations

from pathlib import Path

import onnx

EXPORTED = "exported_from"  # metadata of the ONNX file


def mark(file: Path, origin: str) -> None:
    """Write the origin into the file; large tensors stay in the files beside it."""
    model = onnx.load(str(file), load_external_data=False)
    onnx.helper.set_model_props(model, {item.key: item.value for item in model.metadata_props} | {EXPORTED: origin})
    file.write_bytes(model.SerializeToString(deterministic=True))
