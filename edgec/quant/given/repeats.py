"""Which calibration samples decided, as a hash over the arrays that the model was given; and whether they say little: too few, repeated,
or of one number only."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from edgec.quant.given.options import Sample, Samples

FEW = 8  # samples: of fewer nobody can say what is rare


class Watched:
    """Samples that note what they are during the first pass that goes through all of them.

    A sample's hash is sha256 over, for each of its arrays by name: the line `NAME TYPE SHAPE`, then the elements in little-endian order.
    That of all of them is sha256 over theirs, in order. It depends on no file's format, name or time.
    """

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._hashes: list[bytes] | None = None
        self._flat = 0

    def __call__(self) -> Iterator[Sample]:
        hashes, flat = list[bytes](), 0
        for sample in self._samples():
            yield sample
            if self._hashes is None:
                flat += all(array.size > 1 and array.min() == array.max() for array in map(np.asarray, sample.values()))
                hashes.append(_hash(sample))
        if self._hashes is None:
            self._hashes, self._flat = hashes, flat

    @property
    def sha256(self) -> str | None:
        """None before that pass."""
        return None if self._hashes is None else hashlib.sha256(b"".join(self._hashes)).hexdigest()

    @property
    def count(self) -> int:
        """0 before that pass."""
        return len(self._hashes or ())

    def notes(self) -> list[str]:
        """What the user should know of them; nothing before that pass."""
        hashes = self._hashes or []
        count, different, flat = len(hashes), len(set(hashes)), self._flat
        said = {
            f"{count} samples calibrate, about 100 are usual: what is rare was hardly seen": 1 < count < FEW,
            f"{count - different} of {count} calibration samples repeat others: only {different} say something": different < count,
            f"{flat} of {count} calibration samples are one number all over": flat > 0,
        }
        return [text for text, holds in said.items() if holds]


def _hash(sample: Sample) -> bytes:
    digest = hashlib.sha256()
    for name in sorted(sample):
        array = np.asarray(sample[name])
        digest.update(f"{name!a} {array.dtype.name} {','.join(map(str, array.shape))}\n".encode())
        digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
    return digest.digest()
