"""Translations of signal processing: Fourier transforms, and the windows that signals are multiplied by."""

from edgec.frontend.signal import fourier, tapers  # noqa: F401  (their rules are in RULES now)
