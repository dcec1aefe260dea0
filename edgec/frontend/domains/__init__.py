"""Translations of the domains com.microsoft and ai.onnx.ml."""

from edgec.frontend.domains import classical, contributed, heads, trees  # noqa: F401  (their rules are in RULES now)
