"""Entries of the cache: whole or not there, for this user alone, bounded, and of use to two builds at once."""

from __future__ import annotations

import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from edgec.cache import NOTHING, Store, opened
from edgec.cache.keys import key_of, of_file, own
from edgec.cache.store import ABANDONED, LARGEST_SHARE, UNFINISHED

KEY = key_of("test", 1)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.delenv("EDGEC_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return opened()


def test_what_was_put_is_found(store: Store) -> None:
    assert store.get(KEY) is None
    store.put(KEY, b"one")
    assert store.get(KEY) == b"one" and store.get(key_of("test", 2)) is None
    assert store.folder is not None and [path.name for path in store.folder.iterdir()] == [KEY]
    assert stat.S_IMODE((store.folder / KEY).stat().st_mode) == 0o600 and stat.S_IMODE(store.folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-1], lambda content: content[:-1] + b"!", lambda content: b"", lambda content: content + b"!"]
)
def test_a_damaged_entry_goes(store: Store, damage: object) -> None:
    store.put(KEY, b"content")
    path = store.entries()[0][0]
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    assert store.get(KEY) is None and not path.exists()


def test_an_entry_under_the_name_of_another_goes(store: Store) -> None:
    store.put(KEY, b"content")
    path, other = store.entries()[0][0], key_of("test", 2)
    path.rename(path.with_name(other))
    assert store.get(other) is None and not store.entries()


def test_links_and_folders_are_no_entries(store: Store, tmp_path: Path) -> None:
    assert store.folder is not None
    store.put(KEY, b"content")
    (store.folder / KEY).rename(tmp_path / "elsewhere")
    (store.folder / KEY).symlink_to(tmp_path / "elsewhere")
    assert store.get(KEY) is None
    (store.folder / KEY).unlink()
    (store.folder / KEY).mkdir()
    assert store.get(KEY) is None
    store.put(KEY, b"content")  # cannot be written: nobody notices


def test_those_go_first_that_were_not_used_for_longest(tmp_path: Path) -> None:
    store, keys = Store(tmp_path, 400), [key_of("test", number) for number in range(5)]
    for place, key in enumerate(keys):
        store.put(key, bytes(50))
        os.utime(tmp_path / key, (place, place))
    assert store.get(keys[0]) == bytes(50)  # used now
    store.put(key_of("test", 9), bytes(50))
    store.trim()
    assert {path.name for path, _ in store.entries()} == {keys[0], keys[3], keys[4], key_of("test", 9)}


def test_what_an_ended_build_left_unfinished_goes(tmp_path: Path) -> None:
    late, now = tmp_path / f"a{UNFINISHED}", tmp_path / f"b{UNFINISHED}"
    late.touch()
    now.touch()
    os.utime(late, (0, time.time() - ABANDONED - 60))
    Store(tmp_path).trim()
    assert list(tmp_path.iterdir()) == [now]


def test_what_cannot_be_removed_keeps_nothing_else(store: Store) -> None:
    assert store.folder is not None
    (store.folder / "a folder").mkdir()
    os.utime(store.folder / "a folder", (0, 0))
    store.put(KEY, b"content")
    assert [path.name for path, _ in store.entries()] == [KEY]
    Store(store.folder, 1).trim()
    assert not store.entries()
    store.put(KEY, b"content")
    assert [path.name for path, _ in store.clean()] == [KEY] and not store.entries()


def test_a_folder_that_is_gone_has_no_entries(tmp_path: Path) -> None:
    store = Store(tmp_path / "gone")
    store.put(KEY, b"content")
    store.trim()
    assert store.get(KEY) is None and not store.entries() and not store.clean()


def test_an_interrupt_is_not_lost(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """However late it comes: the entry has its name then."""
    replace = os.replace

    def interrupted(old: str, new: str) -> None:
        replace(old, new)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.put(KEY, b"content")
    assert store.get(KEY) == b"content"


def test_what_is_too_large_is_not_kept(tmp_path: Path) -> None:
    Store(tmp_path, 800).put(KEY, bytes(800 // LARGEST_SHARE + 1))
    assert not list(tmp_path.iterdir())


def test_many_write_and_read_at_once(store: Store) -> None:
    content = bytes(range(256)) * 1000

    def once(number: int) -> bool:
        store.put(KEY, content)
        return store.get(KEY) == content

    with ThreadPoolExecutor(8) as workers:
        assert all(workers.map(once, range(64)))
    assert len(store.entries()) == 1


@pytest.mark.parametrize("word", ["0", "no", "false", "OFF"])
def test_the_variable_turns_it_off(store: Store, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("EDGEC_CACHE", word)
    assert opened() is NOTHING
    NOTHING.put(KEY, b"content")
    assert NOTHING.get(KEY) is None and not NOTHING.entries()


def test_a_folder_that_others_can_write_is_not_used(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    assert store.folder is not None
    store.folder.chmod(0o777)
    assert opened() is NOTHING and "can be written by others" in caplog.text


def test_keys_tell_contents_apart(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"content")
    two.write_bytes(b"other")
    found = [
        key_of("a", of_file(one)),
        key_of("a", of_file(two)),
        key_of("b", of_file(one)),
        key_of("a", 1),
        key_of("a", "1"),
        key_of("a", b"1"),
    ]
    assert len(set(found)) == len(found) and own() == own()
    assert key_of("a", memoryview(b"1")) == key_of("a", b"1")
    with pytest.raises(TypeError, match="no part of a key"):
        key_of("a", one)
