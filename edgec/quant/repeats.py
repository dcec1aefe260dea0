"""Calibration samples that say little: too few, repeated, or of one number only."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from edgec.quant.options import Sample, Samples

FEW = 8  # samples: of fewer nobody can say what is rare


class Watched:
    """Samples that note what they are during the first pass that goes through all of them."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._found: tuple[int, int, int] | None = None

    def __call__(self) -> Iterator[Sample]:
        seen, count, flat = set[bytes](), 0, 0
        for sample in self._samples():
            yield sample
            if self._found is None:
                count += 1
                flat += all(array.size > 1 and array.min() == array.max() for array in map(np.asarray, sample.values()))
                seen.add(_digest(sample))
        self._found = self._found or (count, len(seen), flat)

    def notes(self) -> list[str]:
        """What the user should know of them; nothing before that pass."""
        count, different, flat = self._found or (FEW, FEW, 0)
        said = {
            f"{count} samples calibrate, about 100 are usual: what is rare was hardly seen": 1 < count < FEW,
            f"{count - different} of {count} calibration samples repeat others: only {different} say something": different < count,
            f"{flat} of {count} calibration samples are one number all over": flat > 0,
        }
        return [text for text, holds in said.items() if holds]


def _digest(sample: Sample) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(sample):
        array = np.ascontiguousarray(sample[name])
        digest.update(f"{name!a} {array.dtype} {array.shape}\n".encode())
        digest.update(array.data if array.size else b"")
    return digest.digest()
