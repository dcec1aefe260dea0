"""The folder in which compilers keep what they can use again: nobody else may ever have written there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from edgec.base.errors import ToolchainError
from edgec.cache.folder import cache_folder, user_cache
from edgec.toolchain.call import call
from edgec.toolchain.find import Compiler

ZIG = Compiler(("sh", "-c", "env"), ("true",), "a stand-in that prints its environment", is_zig=True)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_zig_keeps_its_cache_in_a_folder_of_the_user_alone(home: Path) -> None:
    said = call(ZIG.command, ZIG, home, "test").splitlines()
    folder = home / "cache" / "edgec" / "zig"
    assert {f"ZIG_GLOBAL_CACHE_DIR={folder}", f"ZIG_LOCAL_CACHE_DIR={folder}"} <= set(said)
    assert {stat.S_IMODE(place.stat().st_mode) for place in (folder, folder.parent)} == {0o700}


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
@pytest.mark.parametrize("part", ["edgec", "edgec/zig"])
def test_a_cache_that_others_can_write_is_refused(home: Path, part: str, mode: int) -> None:
    cache_folder("zig")
    (home / "cache" / part).chmod(mode)
    with pytest.raises(ToolchainError, match="can be written by others") as caught:
        call(ZIG.command, ZIG, home, "test")
    assert caught.value.where == str(home / "cache" / part) and "XDG_CACHE_HOME" in caught.value.hint


def test_a_cache_that_others_can_exchange_is_refused(home: Path) -> None:
    """Who may write the folder around it renames it, and puts there what was one before; /tmp keeps people from that."""
    cache_folder("zig")
    (home / "cache").chmod(0o777)
    with pytest.raises(ToolchainError, match="the folder of the cache can be written by everybody"):
        cache_folder("zig")
    (home / "cache").chmod(0o1777)
    cache_folder("zig")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder away: run as root")
def test_a_cache_in_somebody_elses_folder_is_refused(home: Path) -> None:
    cache_folder("zig")
    os.chown(home / "cache", 12345, 12345)
    with pytest.raises(ToolchainError, match="the folder of the cache belongs to somebody else"):
        cache_folder("zig")


def test_a_link_is_refused(home: Path) -> None:
    (home / "elsewhere").mkdir(mode=0o700)
    (home / "cache").mkdir()
    (home / "cache" / "edgec").symlink_to(home / "elsewhere")
    with pytest.raises(ToolchainError, match="is no folder"):
        cache_folder("zig")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder away: run as root")
def test_somebody_elses_folder_is_refused(home: Path) -> None:
    os.chown(cache_folder("zig"), 12345, 12345)
    with pytest.raises(ToolchainError, match="belongs to somebody else"):
        cache_folder("zig")


def test_each_system_has_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert user_cache({}, "linux") == Path("/home/ada/.cache")
    assert user_cache({"XDG_CACHE_HOME": "relative"}, "linux") == Path("/home/ada/.cache")
    assert user_cache({"XDG_CACHE_HOME": "/fast"}, "darwin") == Path("/fast")
    assert user_cache({}, "darwin") == Path("/home/ada/Library/Caches")
    assert user_cache({"LOCALAPPDATA": "/local"}, "win32") == Path("/local")
