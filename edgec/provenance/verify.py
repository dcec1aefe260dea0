"""Whether a package is what `edgec build` wrote, and who says so."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from edgec.base.codec import decode
from edgec.base.errors import GateError, Problem, UsageError
from edgec.base.strict_json import load_json
from edgec.package.manifest import LARGEST, NO_PACKAGE, Manifest, scan
from edgec.package.parts import File
from edgec.package.single_values import BUILD, MANIFEST, SIGNATURE
from edgec.provenance import signature
from edgec.provenance.listing import Found, Listing, compared, unsafe, walk
from edgec.provenance.signing_keys import fingerprint, public_line, read_public_key

LISTS = (MANIFEST, BUILD, SIGNATURE)
SHOWN = 100  # problems that are told


@dataclass(frozen=True)
class Verified:
    """A package that is whole. signer: fingerprint of the key that signed it, "" where none did; trusted: it is the key that was given.

    rows: what the lists say of every file, but of themselves; texts: the very bytes of the lists.
    """

    package: Path
    name: str
    manifest_sha256: str
    files: int
    compiled: int
    signer: str = ""
    public_key: str = ""
    trusted: bool = False
    rows: Mapping[str, File] = field(default_factory=dict, repr=False)
    texts: Mapping[str, bytes] = field(default_factory=dict, repr=False)


def verify_package(package: Path, key: Path | None = None) -> Verified:
    """Check a package directory against its manifest, and its signature against the public key in the file `key`.

    GateError with all problems when anything was changed, removed or added, or when a key is given and the package is not signed by it.
    UsageError: no package there, or no such key. Without a key a signature must be right too, but says nothing of who made the package.
    """
    wanted = read_public_key(key) if key is not None else None
    try:
        found = {item.path: item for item in walk(package)}
    except OSError as error:
        raise UsageError(f"cannot read: {error.strerror}", where=str(package), hint=NO_PACKAGE) from error
    if MANIFEST not in found:
        raise UsageError("not an edgec package", where=str(package), hint=NO_PACKAGE)
    problems: list[Problem] = []
    texts = {name: text for name in LISTS if (text := _text(found, name, problems)) is not None}
    manifest, listed, made = _lists(texts, problems)
    problems += _unlike(found, {**listed, **made})
    problems += [problem for item in found.values() if (problem := unsafe(item))]
    signed = _signature(texts, wanted, problems)
    if manifest is None or problems:
        raise _refused(problems, str(package))
    digest = hashlib.sha256(texts[MANIFEST]).hexdigest()
    signer, line = (signed.signer, public_line(signed.key)) if signed else ("", "")
    rows = {**listed, **made}
    return Verified(package, manifest.name, digest, len(listed), len(made), signer, line, wanted is not None, rows, texts)


def verify_files(files: Mapping[str, bytes], key: Path, where: str) -> str:
    """Check files of a package that are in memory, the lists among them: those that the key signed, and the bytes that they name.

    The fingerprint of the key. GateError with all problems, UsageError for no such key. Of what the lists name, the rest may be missing.
    """
    problems: list[Problem] = []
    texts = {name: files[name] for name in LISTS if name in files}
    manifest, listed, made = _lists(texts, problems)
    rows = {**listed, **made}
    for path in sorted(set(files) - set(LISTS)):
        if path not in rows:
            problems.append(Problem("is no part of the package", ascii(path)[1:-1]))
        elif (len(files[path]), hashlib.sha256(files[path]).hexdigest()) != (rows[path].bytes, rows[path].sha256):
            problems.append(Problem("was changed", path))
    signed = _signature(texts, read_public_key(key), problems)
    if manifest is None or signed is None or problems:
        raise _refused(problems, where)
    return signed.signer


def _refused(problems: Sequence[Problem], where: str) -> GateError:
    more = [Problem(f"and {len(problems) - SHOWN} more")] if len(problems) > SHOWN else []
    summary = f"the package is not what edgec built: {len(problems)} problem{'s' if len(problems) > 1 else ''}"
    return GateError(summary, [*problems[:SHOWN], *more], where=where, hint="do not use it; get or build it again")


def _lists(texts: Mapping[str, bytes], problems: list[Problem]) -> tuple[Manifest | None, Mapping[str, File], Mapping[str, File]]:
    """The manifest, and what it and build.json say of files, as far as they can be read."""
    manifest = _manifest(texts.get(MANIFEST, b""), problems)
    listed = (manifest.files if manifest else None) or {}
    made = _build(texts[BUILD], problems) if BUILD in texts else {}
    problems += _twice(listed, made)
    return manifest, listed, made


def _signature(texts: Mapping[str, bytes], wanted: Ed25519PublicKey | None, problems: list[Problem]) -> signature.Signature | None:
    """The signature over the lists; a problem where it is wrong, or not by the key that is wanted."""
    signed = signature.read_signature(texts[SIGNATURE], problems) if SIGNATURE in texts else None
    if signed is not None:
        problems += _uncovered(signed.signed, texts)
    if wanted is not None and SIGNATURE not in texts:
        problems.append(Problem("the package is not signed", SIGNATURE, "build it with --sign"))
    if wanted is not None and signed is not None and public_line(signed.key) != public_line(wanted):
        problems.append(Problem(f"signed by another key: {signed.signer}, must be {fingerprint(wanted)}", SIGNATURE))
    return signed


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


def _manifest(text: bytes, problems: list[Problem]) -> Manifest | None:
    """What the manifest says, as far as it can be read."""
    said: list[Problem] = []
    raw = load_json(text, said)
    manifest = None if raw is None else scan(raw, said)
    problems += [Problem(item.what, f"{MANIFEST} {item.where}".rstrip(), item.hint) for item in said]
    return manifest


def _build(text: bytes, problems: list[Problem]) -> Mapping[str, File]:
    said: list[Problem] = []
    raw = load_json(text, said)
    listing: Listing | None = None if raw is None else decode(Listing, raw, "", said)
    problems += [Problem(item.what, f"{BUILD} {item.where}".rstrip(), item.hint) for item in said]
    return (listing.files if listing else None) or {}


def _twice(listed: Iterable[str], made: Iterable[str]) -> list[Problem]:
    """Paths of the second list that the first has too, in these letters or others: systems may not tell them apart."""
    taken = {path.lower() for path in listed}
    return [Problem("must be a path in a package, once", f"{BUILD} files {path!r}") for path in made if path.lower() in taken]


def _unlike(found: Mapping[str, Found], rows: Mapping[str, File]) -> list[Problem]:
    """Files that are missing, changed, or not listed at all, and folders without any: compilers and systems of packages take what lies
    there."""
    problems = [Problem("is missing", path) for path in rows if path not in found]
    problems += [problem for path, row in rows.items() if path in found and (problem := compared(found[path], row))]
    full = {path.rpartition("/")[0] for path in found}
    strange = [
        path
        for path, item in found.items()
        if path not in rows and path not in LISTS and path != "." and not (item.kind == "folder" and path in full)
    ]
    return problems + [Problem("is no part of the package", ascii(path)[1:-1], "move it out of the folder") for path in strange]


def _uncovered(signed: Mapping[str, str], texts: Mapping[str, bytes]) -> list[Problem]:
    """Lists that are not the ones that were signed."""
    problems = [Problem("is signed, but missing", name) for name in signed if name not in texts]
    for name in (MANIFEST, BUILD):
        if name in texts and signed.get(name) != hashlib.sha256(texts[name]).hexdigest():
            problems.append(Problem("is not what was signed", name))
    return problems
