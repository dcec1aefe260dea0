"""Deploying as tests do it: each time the board is taken and given back; and what its lock says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from edgec.boards.connect.connection import Connection
from edgec.boards.deploy import delivery as deploying
from edgec.boards.deploy import versions
from edgec.boards.deploy.delivery import Deployment
from edgec.boards.deploy.lock import hold
from edgec.boards.deploy.parcel import Parcel
from edgec.boards.deploy.sign_of_life import Mark, parse_mark


def deploy(line: Connection, parcel: Parcel, **options: Any) -> Deployment:
    with hold(line, "a test") as lock:
        return deploying.deploy(lock, parcel, **options)


def scripted(parcel: Parcel, script: str) -> Parcel:
    """The same package with a shell script as its exam program, one that does not know how to check files."""
    known = {path: row for path, row in parcel.manifest.files.items() if not path.endswith("_files.h")}
    files = {**parcel.files, parcel.program: f"#!/bin/sh\n{script}\n".encode()}
    return replace(parcel, manifest=replace(parcel.manifest, files=known), files=files)


def scripted_where(parcel: Parcel, word: str, script: str, folder: Path) -> Parcel:
    """The same package, of which a script stands in for the exam program where its arguments have a word. folder: for the real one."""
    real = folder / "real_exam"
    real.write_bytes(parcel.files[parcel.program])
    real.chmod(0o755)
    return scripted(parcel, f'case " $* " in *" {word} "*) {script};; *) exec {real} "$@";; esac')


def roll_back(line: Connection, name: str) -> str:
    with hold(line, "a test") as lock:
        return versions.roll_back(lock, name)[0]


def tenure(work: Path) -> Path | None:
    """The folder of the one who has, or had, a board; none where nobody ever had. A board has never two."""
    found = list((work / "lock").glob("*.*"))
    assert len(found) < 2, found
    return found[0] if found else None


def mark(work: Path) -> Mark | None:
    """The sign of life on a board whose work folder is here; none when it is free."""
    folder = tenure(work)
    file = folder / folder.name.rpartition(".")[2] if folder else None
    return parse_mark(file.read_bytes()) if file and file.exists() else None
