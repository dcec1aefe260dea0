"""Where compilers keep what they can use again: a folder of this user's own, into which nobody else can put anything."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from edgec.base.errors import ToolchainError

_ELSEWHERE = "set XDG_CACHE_HOME to a folder of your own"


def cache_folder(name: str) -> Path:
    """`name` below edgec's part of the user's cache folder, made where it is missing, for this user alone.

    ToolchainError where it, or edgec's part, is a link, belongs to somebody else or can be written by others: they could have put programs
    into it. So could they where somebody else may put another folder in its place.
    """
    try:
        base = user_cache(os.environ, sys.platform) / "edgec"
    except RuntimeError as error:  # neither HOME nor an entry of this user
        raise ToolchainError("no folder for the cache: this user has no home", hint=_ELSEWHERE) from error
    for folder in (base, base / name):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            facts = folder.lstat()
        except OSError as error:
            raise ToolchainError(f"cannot make the cache: {error.strerror}", where=str(folder), hint=_ELSEWHERE) from error
        if what := _objection(facts):
            raise ToolchainError(f"the cache {what}", where=str(folder), hint=f"remove it, or {_ELSEWHERE}")
    if what := _exchangeable(base.parent.stat()):
        raise ToolchainError(f"the folder of the cache {what}", where=str(base.parent), hint=_ELSEWHERE)
    return base / name


def user_cache(environment: Mapping[str, str], system: str) -> Path:
    """Where this user keeps caches: $XDG_CACHE_HOME where that is absolute, as its specification says, else the system's place."""
    given = Path(environment.get("XDG_CACHE_HOME", ""))
    if given.is_absolute():
        return given
    if system == "win32" and environment.get("LOCALAPPDATA"):
        return Path(environment["LOCALAPPDATA"])
    return Path.home() / ("Library/Caches" if system == "darwin" else ".cache")


def _exchangeable(facts: os.stat_result) -> str:
    """How somebody else may rename what is in a folder."""
    if os.name != "posix":
        return ""
    if facts.st_uid not in (os.geteuid(), 0):
        return "belongs to somebody else"
    return "can be written by everybody" if facts.st_mode & stat.S_IWOTH and not facts.st_mode & stat.S_ISVTX else ""


def _objection(facts: os.stat_result) -> str:
    """Why a folder is not this user's alone; Windows has no modes, and keeps others out of LOCALAPPDATA."""
    if not stat.S_ISDIR(facts.st_mode):
        return "is no folder"
    if os.name != "posix":
        return ""
    if facts.st_uid != os.geteuid():
        return "belongs to somebody else"
    return "can be written by others" if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""
