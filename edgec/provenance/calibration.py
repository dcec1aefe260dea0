"""Which samples decided a quantization: their number, and a hash over the arrays as the model was given them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator

import numpy as np

Sample = dict[str, np.ndarray]


class Witness:
    """Samples that hash themselves during the first pass that goes through all of them.

    The hash is sha256 over, for each sample in order and for each of its arrays by name: the line `NAME TYPE SHAPE`, then the elements
    in little-endian order. It depends on no file's format, name or time.
    """

    def __init__(self, samples: Callable[[], Iterable[Sample]]) -> None:
        self._samples = samples
        self.sha256: str | None = None

    def __call__(self) -> Iterator[Sample]:
        digest = hashlib.sha256()
        for sample in self._samples():
            yield sample
            if self.sha256 is None:
                for name in sorted(sample):
                    _add(digest, name, np.asarray(sample[name]))
        self.sha256 = self.sha256 or digest.hexdigest()


def _add(digest: hashlib._Hash, name: str, array: np.ndarray) -> None:
    digest.update(f"{name!a} {array.dtype.name} {','.join(map(str, array.shape))}\n".encode())
    digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
