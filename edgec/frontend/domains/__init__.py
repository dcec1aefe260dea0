"""Translations of the domains com.microsoft and ai.onnx.ml."""

from edgec.frontend.domains import categories, classical, contributed, heads, quantized_lstm, support_vectors, tree_ensemble, trees  # noqa: F401  (their rules are in RULES now)
