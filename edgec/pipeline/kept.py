"""One result of a build in the cache, under a key that was told before anything read what it names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from edgec.cache import NOTHING, Store


@dataclass(frozen=True)
class Entry:
    """`tell` gives the key of what the result depends on as that is now; `key` is what it gave before the first file was read."""

    store: Store = NOTHING
    tell: Callable[[], str | None] = lambda: None
    key: str | None = None

    @property
    def holds(self) -> bool:
        """Whether there is a key, and files that were read since are still what it names."""
        return self.key is not None and self.tell() == self.key

    def get(self) -> bytes | None:
        return self.store.get(self.key) if self.key is not None else None

    def put(self, *content: bytes | memoryview) -> None:
        """Keep it, unless it may have been made from something else than the key says."""
        if self.key is not None and self.holds:
            self.store.put(self.key, *content)


def entry(store: Store, tell: Callable[[], str | None]) -> Entry:
    """To be called before the first look at what `tell` tells of."""
    return Entry(store, tell, tell() if store.folder is not None else None)
