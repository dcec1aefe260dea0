"""Translations of signal processing: Fourier transforms, and the windows that signals are multiplied by."""

from edgec.frontend.signal import fourier, tapers  # their rules are in RULES now

__all__ = ["fourier", "tapers"]
