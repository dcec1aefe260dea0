"""The manifest: what is written is read again as it was, and whatever a stranger writes there is refused in words, or harmless."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

import edgec
from edgec.base.errors import EdgecError, UsageError
from edgec.boards.deploy.parcel import open_parcel
from edgec.emit import emit_sources
from edgec.package import Package
from edgec.package.manifest import LARGEST, Manifest, parse_manifest, read_manifest
from edgec.pipeline.evaluation import kept_options
from edgec.targets import load_target
from tests.calling import DIGITS
from tests.contract.examiner import WHOLE
from tests.emit.programs import small_program

FORMS: dict[str, dict[str, Any]] = {
    "plain": {
        "target": "portable",
        "calib": DIGITS / "calibration.npz",
        "io": "int8",
        "card": {"license": "Apache-2.0", "author": "Ada é"},
    },
    "task": {"target": "android", "precision": "fp32", "task": "classify", "shape": {"image": (1, 1, 8, 8)}},
    "gpu": {"target": "ios-metal", "precision": "fp32", "task": "classify", "preprocess": {"color": "gray", "mean": [0.5], "scale": 2}},
    "web": {"target": "wasm", "precision": "fp32", "samples": 3, "exclude": ["/conv1"]},
}
VALUES: list[Any] = [
    None, True, -1, 2**63, 10**400, -1.5, "", "x" * 70_000, "\x1b[31m\u202e", "\ud800", "../../etc/passwd", [], {}, [[]], [None], {"a": []},
    [2**48, 2**48],
]  # fmt: skip


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("forms")
    for name, settings in FORMS.items():
        edgec.build(DIGITS / "digits.onnx", out=folder / name, compile=False, **settings)
    return {name: folder / name for name in FORMS}


@pytest.mark.parametrize("name", FORMS)
def test_what_is_written_is_read_again(packages: dict[str, Path], name: str) -> None:
    manifest, text = read_manifest(packages[name])
    assert manifest.text == text and parse_manifest(text, "here") == manifest
    assert set(manifest.files) == {
        path.relative_to(packages[name]).as_posix() for path in packages[name].rglob("*") if path.is_file() and path.name != "manifest.json"
    }


def test_nothing_of_a_manifest_can_be_changed(packages: dict[str, Path]) -> None:
    manifest = Package(packages["plain"]).manifest
    with pytest.raises(FrozenInstanceError):
        manifest.name = "other"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        manifest.calls[0].macs = 1  # type: ignore[misc]


def test_a_program_that_was_made_by_hand_has_a_manifest_that_can_be_read() -> None:
    draft = emit_sources(small_program(), load_target("portable"))
    manifest = parse_manifest(draft.complete()["manifest.json"], "here")
    assert manifest == draft.manifest.listing(draft.files) and manifest.precision == "unknown"


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where values lie in JSON; of a list and of the files the first."""
    yield path
    if isinstance(value, dict):
        for key in list(value)[:1] if path == ("files",) else value:
            yield from places(value[key], (*path, key))
    elif value and isinstance(value, list):
        yield from places(value[0], (*path, 0))


def mutants(raw: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The manifest with one place of it replaced or taken away, at every kind of place."""
    for path in list(places(raw))[1:]:
        holder: Any = raw
        for key in path[:-1]:
            holder = holder[key]
        before = copy.copy(holder)
        for value in VALUES:
            holder[path[-1]] = value
            yield f"{path} {str(value)[:40]}", json.dumps(raw).encode()
        del holder[path[-1]]
        yield f"{path} taken away", json.dumps(raw).encode()
        holder.clear()
        holder.update(before) if isinstance(holder, dict) else holder.extend(before)


def use(package: Package) -> None:
    """All that reads a manifest before anything runs."""
    edgec.inspect(package.directory)
    _ = package.inputs, package.outputs, package.has_gpu, package.notes, package.target, kept_options(package)
    assert package.manifest.text


@pytest.mark.parametrize("name", FORMS if WHOLE else ["gpu"])
def test_one_lie_anywhere_is_refused_in_words_or_harmless(packages: dict[str, Path], tmp_path: Path, name: str) -> None:
    raw = json.loads((packages[name] / "manifest.json").read_text(encoding="utf-8"))
    refused = tried = 0
    for about, text in mutants(raw):
        tried += 1
        try:
            parse_manifest(text, "there")
            (tmp_path / "manifest.json").write_bytes(text)
            use(Package(tmp_path))
        except EdgecError as error:
            refused += 1
            assert error.exit_code == 2 and error.where and error.hint, about
    assert tried > 1000 and refused > tried * 0.8


NO_PACKAGES: list[tuple[str, Callable[[Path], object]]] = [
    ("no file", lambda path: None),
    ("empty", lambda path: path.write_bytes(b"")),
    ("a folder", lambda path: path.mkdir()),
    ("a link", lambda path: path.symlink_to("/dev/zero")),
    ("a link to itself", lambda path: path.symlink_to(path)),
    ("deep", lambda path: path.write_bytes(b"[" * 200_000)),
    ("twice", lambda path: path.write_bytes(b'{"edgec_version": "1", "edgec_version": "1"}')),
    ("long number", lambda path: path.write_bytes(b'{"edgec_version": ' + b"9" * 9000 + b"}")),
    ("not text", lambda path: path.write_bytes(b"\xff\xfe")),
    ("no number", lambda path: path.write_bytes(b'{"edgec_version": NaN}')),
    ("too large", lambda path: path.write_bytes(b" " * (LARGEST + 1))),
]


@pytest.mark.parametrize(("words", "make"), NO_PACKAGES, ids=[words for words, _ in NO_PACKAGES])
def test_what_is_no_manifest_is_no_package(tmp_path: Path, words: str, make: Callable[[Path], object]) -> None:
    make(tmp_path / "manifest.json")
    for read in (lambda: Package(tmp_path).manifest, lambda: open_parcel(tmp_path), lambda: edgec.inspect(tmp_path)):
        with pytest.raises(UsageError, match="not an edgec package") as caught:
            read()
        assert caught.value.where == str(tmp_path) and caught.value.hint


CONTRADICTIONS: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("arena_bytes", lambda facts: facts.update(arena_bytes=1)),
    ("weights_bytes", lambda facts: facts.update(weights_bytes=1)),
    ("options_sha256", lambda facts: facts["options"].update(seed=7)),
    ("calls[0]", lambda facts: facts["calls"][0].update(reads=["nowhere"])),
    ("memory", lambda facts: facts["memory"].append(facts["memory"][0])),
    ("inputs", lambda facts: facts["inputs"].append(facts["inputs"][0])),
    ("files 'MAKEFILE'", lambda facts: facts["files"].update(MAKEFILE=facts["files"]["Makefile"])),
    ("future", lambda facts: facts.update(future=1)),
    ("arena.future", lambda facts: facts["arena"].update(future=1)),
    ("card 'writer'", lambda facts: facts["card"].update(writer="x")),
    ("gpu", lambda facts: facts.update(gpu={})),
]


@pytest.mark.parametrize(("where", "change"), CONTRADICTIONS, ids=[where for where, _ in CONTRADICTIONS])
def test_parts_that_do_not_fit_each_other_are_refused_with_the_place(
    packages: dict[str, Path], where: str, change: Callable[[dict[str, Any]], object]
) -> None:
    raw = json.loads((packages["plain"] / "manifest.json").read_text(encoding="utf-8"))
    change(raw)
    with pytest.raises(UsageError, match="the manifest is broken") as caught:
        parse_manifest(json.dumps(raw).encode(), "there")
    assert any(problem.where.startswith(where) for problem in caught.value.problems)


def test_a_gpu_half_tells_of_every_call(packages: dict[str, Path]) -> None:
    raw = json.loads((packages["gpu"] / "manifest.json").read_text(encoding="utf-8"))
    del raw["gpu"]["calls"][-1]
    with pytest.raises(UsageError) as caught:
        parse_manifest(json.dumps(raw).encode(), "there")
    assert [problem.where for problem in caught.value.problems] == ["gpu.calls"]


def test_the_manifest_is_a_value_of_its_own_type(packages: dict[str, Path]) -> None:
    assert isinstance(Package(packages["task"]).manifest, Manifest)
    android = Package(packages["task"]).manifest.android
    assert android is not None and (android.package, android.class_) == ("ai.edgec.digits", "Digits")
