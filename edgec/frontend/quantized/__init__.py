"""Translations of quantized operators: codes to numbers and back, products of codes, QLinear*."""

from edgec.frontend.quantized import dynamic, linear, qlinear  # noqa: F401  (their rules are in RULES now)
