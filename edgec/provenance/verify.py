"""Whether a package is what `edgec build` wrote, and who says so."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgec.devices.manifest import Manifest
from edgec.errors import GateError, Problem, UsageError
from edgec.provenance import signature
from edgec.provenance.card import FIELDS, MOST, OF_THE_FILE, printable
from edgec.provenance.keys import fingerprint, public_line, read_public_key
from edgec.provenance.listing import BUILD, MANIFEST, SCHEMA_VERSION, Found, Row, compared, walk

LARGEST = 1 << 26  # bytes of a manifest
SHOWN = 100  # problems that are told
_PART = re.compile(r"(?!\.{1,2}(?:/|$))[A-Za-z0-9_.+@-]{1,200}")
_HASH = re.compile(r"[0-9a-f]{64}")
_HASHES = ("model_sha256", "network_sha256", "options_sha256", "calibration_sha256")


@dataclass(frozen=True)
class Verified:
    """A package that is whole. signer: fingerprint of the key that signed it, "" where none did; trusted: it is the key that was given."""

    package: Path
    name: str
    manifest_sha256: str
    files: int
    compiled: int
    signer: str = ""
    public_key: str = ""
    trusted: bool = False


def verify_package(package: Path, key: Path | None = None) -> Verified:
    """Check a package directory against its manifest, and its signature against the public key in the file `key`.

    GateError with all problems when anything was changed, removed or added, or when a key is given and the package is not signed by it.
    UsageError: no package there, or no such key. Without a key a signature must be right too, but says nothing of who made the package.
    """
    wanted = read_public_key(key) if key is not None else None
    try:
        found = {item.path: item for item in walk(package)}
    except OSError as error:
        raise UsageError(f"cannot read: {error.strerror}", where=str(package), hint="give the directory that edgec build wrote") from error
    if MANIFEST not in found:
        raise UsageError("not an edgec package", where=str(package), hint="give the directory that edgec build wrote")
    problems: list[Problem] = []
    texts = {name: text for name in (MANIFEST, BUILD, signature.FILE) if (text := _text(found, name, problems)) is not None}
    manifest = _manifest(texts.get(MANIFEST, b"{}"), problems)
    taken: set[str] = set()
    listed = _rows(manifest.get("files"), MANIFEST, taken, problems)
    made = _rows(_build(texts[BUILD], problems), BUILD, taken, problems) if BUILD in texts else {}
    problems += _unlike(found, listed, made)
    signed = signature.read_signature(texts[signature.FILE], problems) if signature.FILE in texts else None
    if signed is not None:
        problems += _uncovered(signed.signed, texts)
    if wanted is not None and signature.FILE not in found:
        problems.append(Problem("the package is not signed", signature.FILE, "build it with --sign"))
    if wanted is not None and signed is not None and public_line(signed.key) != public_line(wanted):
        problems.append(Problem(f"signed by another key: {signed.signer}, must be {fingerprint(wanted)}", signature.FILE))
    if problems:
        more = [Problem(f"and {len(problems) - SHOWN} more")] if len(problems) > SHOWN else []
        summary = f"the package is not what edgec built: {len(problems)} problem{'s' if len(problems) > 1 else ''}"
        raise GateError(summary, [*problems[:SHOWN], *more], where=str(package), hint="do not use it; get or build it again")
    digest = hashlib.sha256(texts[MANIFEST]).hexdigest()
    signer, line = (signed.signer, public_line(signed.key)) if signed else ("", "")
    return Verified(package, str(manifest["name"]), digest, len(listed), len(made), signer, line, wanted is not None)


def _text(found: Mapping[str, Found], name: str, problems: list[Problem]) -> bytes | None:
    """The content of one of the three files that have no hash in a list; None, with a problem unless it is missing."""
    item = found.get(name)
    if item is None:
        return None
    if item.kind != "file" or item.bytes > LARGEST:
        problems.append(Problem("is a link" if item.kind == "link" else "is no file of a size that can be", name))
        return None
    try:
        return item.place.read_bytes()
    except OSError as error:
        problems.append(Problem(f"cannot read: {error.strerror}", name))
        return None


def _manifest(text: bytes, problems: list[Problem]) -> dict[str, Any]:
    """What the manifest says; its parts that nothing else checks are checked here."""
    manifest = _json(text, MANIFEST, problems)
    if not manifest:
        return {}
    try:
        Manifest.parse(text, MANIFEST)
    except UsageError as error:
        problems += [Problem(item.what, f"{MANIFEST} {item.where}", item.hint) for item in error.problems or (Problem(error.summary),)]
    for key in _HASHES:
        value = manifest.get(key)
        if not (value is None and key == "calibration_sha256") and not (isinstance(value, str) and _HASH.fullmatch(value)):
            problems.append(Problem("must be a sha256", f"{MANIFEST} {key}"))
    card = manifest.get("card")
    if not isinstance(card, dict) or not all(map(_is_field, card.items())):
        problems.append(Problem("must be a table of short texts under known names", f"{MANIFEST} card"))
    return manifest


def _is_field(item: tuple[str, Any]) -> bool:
    key, value = item
    return (key in FIELDS or key in OF_THE_FILE) and isinstance(value, str) and len(value) <= MOST and printable(value) == value


def _build(text: bytes, problems: list[Problem]) -> object:
    facts = _json(text, BUILD, problems)
    if set(facts) == {"schema_version", "files"} and facts["schema_version"] == SCHEMA_VERSION:
        return facts["files"]
    problems.append(Problem(f"is no list of files of version {SCHEMA_VERSION}", BUILD))
    return {}


def _json(text: bytes, name: str, problems: list[Problem]) -> dict[str, Any]:
    """An object in which no key comes twice; empty, with a problem, for anything else."""
    try:
        facts = json.loads(text, object_pairs_hook=_once)
        if isinstance(facts, dict):
            return facts
    except (ValueError, RecursionError) as error:
        problems.append(Problem(f"cannot be read: {str(error)[:200]}", name))
        return {}
    problems.append(Problem("is no JSON object", name))
    return {}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    facts = dict(pairs)
    if len(facts) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{ascii(next(key for key in keys if keys.count(key) > 1))[:80]} comes twice")
    return facts


def _rows(files: object, name: str, taken: set[str], problems: list[Problem]) -> dict[str, Row]:
    """path -> size and hash, of the rows that can be used; the others are problems. taken: paths of all lists, in small letters."""
    if not isinstance(files, dict):
        problems.append(Problem("must list files", f"{name} files"))
        return {}
    rows: dict[str, Row] = {}
    for path, row in files.items():
        if not is_path(path) or path.lower() in taken:
            problems.append(Problem("no path in a package, or there twice", f"{name} {ascii(path)[:200]}"))
        elif not _is_row(row):
            problems.append(Problem("must have bytes and sha256", f"{name} {path}"))
        else:
            rows[path] = row
        taken.add(path.lower())
    return rows


def is_path(path: str) -> bool:
    """Whether a list may name it: relative, plain letters, no way up; and none of the three files that lists are kept in."""
    return len(path) <= 1000 and all(map(_PART.fullmatch, path.split("/"))) and path not in (MANIFEST, BUILD, signature.FILE)


def _is_row(row: object) -> bool:
    if not isinstance(row, dict) or set(row) != {"bytes", "sha256"}:
        return False
    size, digest = row["bytes"], row["sha256"]
    return type(size) is int and 0 <= size < 1 << 48 and isinstance(digest, str) and _HASH.fullmatch(digest) is not None


def _unlike(found: Mapping[str, Found], listed: Mapping[str, Row], made: Mapping[str, Row]) -> list[Problem]:
    """Files that are missing, changed, or not listed at all: compilers and systems of packages take what lies there."""
    rows = {**listed, **made}
    problems = [Problem("is missing", path) for path in rows if path not in found]
    problems += [problem for path, row in rows.items() if path in found and (problem := compared(found[path], row))]
    strange = [path for path in found if path not in rows and path not in (MANIFEST, BUILD, signature.FILE)]
    return problems + [Problem("is no part of the package", ascii(path)[1:-1], "move it out of the folder") for path in strange]


def _uncovered(signed: Mapping[str, str], texts: Mapping[str, bytes]) -> list[Problem]:
    """Lists that are not the ones that were signed."""
    problems = [Problem("is signed, but missing", name) for name in signed if name not in texts]
    for name in (MANIFEST, BUILD):
        if name in texts and signed.get(name) != hashlib.sha256(texts[name]).hexdigest():
            problems.append(Problem("is not what was signed", name))
    return problems
