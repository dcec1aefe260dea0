"""Whether a version that lies on a board is what it was when it came, and still answers right."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from edgec.base.errors import DeviceError, GateError, Problem
from edgec.boards.board.exam_program import ProgramFailed, examine, verdict
from edgec.boards.connect.connection import Connection
from edgec.boards.connect.trouble import BoardTimeout
from edgec.boards.deploy.checksum import checksums
from edgec.boards.deploy.lock import Lock
from edgec.boards.deploy.parcel import LISTING
from edgec.records.results import ExamResult

NOT_GOOD = (BoardTimeout, GateError, ProgramFailed)  # what an exam raises that a version does not pass


class NotWhole(DeviceError):
    """Files of a version are missing, or are not what they were."""


@dataclass(frozen=True)
class Listed:
    """What files.json says of a file."""

    bytes: int
    sha256: str


def listed(connection: Connection, folder: str, version: str) -> Mapping[str, Listed]:
    """The files of a version, as its files.json says; {} when that is not what the version is named by."""
    return listed_in(connection.read(f"{folder}/{LISTING}") or b"", version)


def listed_in(content: bytes, version: str) -> Mapping[str, Listed]:
    """The same, of what files.json holds."""
    if hashlib.sha256(content).hexdigest() != version:
        return {}
    try:
        return {str(path): Listed(int(facts["bytes"]), str(facts["sha256"])) for path, facts in json.loads(content)["files"].items()}
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return {}


def prove(lock: Lock, name: str, folder: str, version: str) -> ExamResult:
    """Hash every file of a version, and give it its exam. NotWhole, or one of NOT_GOOD, when it is not to be used."""
    connection = lock.connection
    with lock.kept():
        if problems := _spoiled(connection, folder, version):
            what = f"version {version[:12]} of {name} is not whole any more"
            raise NotWhole(what, problems, where=connection.device.name, hint="deploy it again, or another version")
        exam = examine(connection, f"{folder}/build/{name}_exam")
    if not exam.passed:
        hint = "build the package again; if it stays so, try another target"
        raise GateError(verdict(exam), where=connection.device.name, hint=hint)
    return exam


def _spoiled(connection: Connection, folder: str, version: str) -> list[Problem]:
    wanted, sizes = listed(connection, folder, version), connection.sizes(folder)
    if not wanted:
        return [Problem("not the list of files that the version is named by", LISTING)]
    whole = {f"{folder}/{path}": file.bytes for path, file in wanted.items() if sizes.get(path) == file.bytes}
    hashes = checksums(connection, whole)
    wrong = [path for path, file in wanted.items() if hashes.get(f"{folder}/{path}") != file.sha256]
    return [Problem("missing, or another than it was", path) for path in wrong]
