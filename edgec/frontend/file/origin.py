"""What a model file says of itself, beside the network."""

from __future__ import annotations

import onnx

MOST = 256  # entries that are read, and
LONGEST = 65536  # characters of one: beyond it nobody reads


def origin_of(model: onnx.ModelProto) -> dict[str, str]:
    """The file's metadata (license, author and the like, under names of its own) and ONNX's own fields, as a stranger's words.

    Where metadata and a field of ONNX say the same, the metadata does.
    """
    found = {item.key: item.value for item in list(model.metadata_props)[:MOST] if item.key not in ("producer", "domain")}
    found["producer"] = " ".join(text for text in (model.producer_name, model.producer_version) if text and isinstance(text, str))
    found["domain"] = model.domain
    found.setdefault("model_version", str(model.model_version) if model.model_version else "")
    found.setdefault("model_description", model.doc_string or model.graph.doc_string)
    return {key: value[:LONGEST] for key, value in found.items() if value and isinstance(key, str) and isinstance(value, str)}
