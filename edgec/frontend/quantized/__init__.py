"""Translations of quantized operators: codes to numbers and back, products of codes, QLinear*."""

from edgec.frontend.quantized import dynamic, linear, qlinear  # their rules are in RULES now

__all__ = ["dynamic", "linear", "qlinear"]
