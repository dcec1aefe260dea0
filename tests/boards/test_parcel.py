"""What of a package travels to a board, and packages that lie."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgec.base.errors import DeviceError, UsageError
from edgec.boards.deploy.executable import made_for
from edgec.boards.deploy.parcel import open_parcel

Packages = Callable[..., Path]


@pytest.fixture
def copy(package: Packages, tmp_path: Path) -> Path:
    """A package of this test's own."""
    return Path(shutil.copytree(package("host"), tmp_path / "digits"))


def edit(copy: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = copy / "manifest.json"
    facts = json.loads(path.read_text())
    change(facts)
    path.write_text(json.dumps(facts))


def test_a_parcel_has_the_program_the_libraries_the_headers_and_the_manifest(package: Packages) -> None:
    parcel = open_parcel(package("host"))
    expected = {
        "manifest.json",
        "build/digits_exam",
        "build/libdigits.so",
        "build/libdigits.a",
        "include/digits.h",
        "include/digits_pool.h",
    }
    assert set(parcel.files) == expected
    assert parcel.files == {path: (package("host") / path).read_bytes() for path in expected}
    assert parcel.program == "build/digits_exam"
    assert {path: parcel.mode(path) for path in expected} == {path: 0o755 if path == parcel.program else 0o644 for path in expected}
    assert (parcel.inputs_bytes, parcel.outputs_bytes) == (8 * 8 * 4, 10 * 4)


def test_weights_that_are_loaded_from_a_file_travel_too(copy: Path) -> None:
    edit(copy, lambda facts: facts["weights"].update(form="bin"))
    assert "src/digits_weights.bin" in open_parcel(copy).files


def test_the_facts_are_those_of_the_manifest(package: Packages) -> None:
    text = (package("host") / "manifest.json").read_bytes()
    manifest, facts = json.loads(text), open_parcel(package("host")).facts
    assert facts.sha256 == hashlib.sha256(text).hexdigest()
    assert (facts.name, facts.target, facts.precision) == ("digits", manifest["target"], "int8")
    assert (facts.macs, facts.arena_bytes, facts.weights_bytes) == (304768, manifest["arena_bytes"], manifest["weights_bytes"])
    assert facts.model_sha256 == manifest["model_sha256"]


def test_layers_are_the_calls_with_their_precision_and_signal_to_noise_ratio(package: Packages) -> None:
    manifest, layers = json.loads((package("host") / "manifest.json").read_bytes()), open_parcel(package("host")).facts.layers
    assert [layer.name for layer in layers] == [call["name"] for call in manifest["calls"]]
    ratios = {row["node"]: row["sqnr"] for row in manifest["quantization"]}
    convolutions = [layer for layer in layers if layer.kernel == "conv_int8"]
    assert len(convolutions) == 4
    assert all(layer.precision == "int8" and layer.macs > 0 and layer.sqnr_db == ratios[layer.nodes[-2]] for layer in convolutions)
    assert [(layer.name, layer.nodes[0]) for layer in convolutions] == [(f"/conv{place}", f"/conv{place}") for place in range(1, 5)]
    assert set(ratios) - {"image"} <= {node for layer in layers for node in layer.nodes} | {"/flatten"}
    assert (layers[-1].kernel, layers[-1].precision, layers[-1].sqnr_db) == ("conv_int8_float", "int8", None)


@pytest.mark.thorough
def test_layers_of_a_float_package_are_float(package: Packages) -> None:
    layers = open_parcel(package("host", "fp32")).facts.layers
    assert {layer.precision for layer in layers} == {"float32"}
    assert {layer.sqnr_db for layer in layers} == {None}


def test_blocks_of_the_arena_that_live_at_the_same_time_do_not_overlap(package: Packages) -> None:
    facts = open_parcel(package("host")).facts
    assert [block.name for block in facts.blocks][-1] == "scratch"
    assert all(0 <= block.first <= block.last < len(facts.layers) for block in facts.blocks)
    assert max(block.address + block.bytes for block in facts.blocks) <= facts.arena_bytes
    for one in facts.blocks:
        for other in facts.blocks:
            together = one is not other and one.first <= other.last and other.first <= one.last
            assert not together or one.address + one.bytes <= other.address or other.address + other.bytes <= one.address


@pytest.mark.parametrize(("target", "arch"), [("rpi4", "aarch64"), ("rpi-32bit", "armv7"), ("host", None)])
def test_the_machine_is_the_one_that_the_program_was_made_for(package: Packages, target: str, arch: str | None) -> None:
    parcel = open_parcel(package(target))
    assert parcel.arch == (arch or parcel.manifest.arch)
    assert (parcel.os, parcel.arch) == made_for(parcel.files[parcel.program])
    assert parcel.vocabularies == parcel.manifest.vocabularies


def test_the_version_names_exactly_these_files(copy: Path) -> None:
    first = open_parcel(copy).version
    assert open_parcel(copy).version == first
    with (copy / "build/digits_exam").open("ab") as stream:
        stream.write(b"\0")
    assert open_parcel(copy).version != first


def test_a_parcel_can_be_sent_to_another_process(package: Packages) -> None:
    parcel = open_parcel(package("host"))
    again = pickle.loads(pickle.dumps(parcel))
    assert (again, again.version) == (parcel, parcel.version)


def test_what_is_no_package_is_said(tmp_path: Path) -> None:
    for content in (None, b"", b"{}", b"[]", b"\xff", b"[" * 100_000, b'{"edgec_version": NaN}'):
        if content is not None:
            (tmp_path / "manifest.json").write_bytes(content)
        with pytest.raises(UsageError, match="not an edgec package") as caught:
            open_parcel(tmp_path)
        assert (caught.value.where, caught.value.hint) == (str(tmp_path), "give the directory that edgec build wrote")


def test_a_package_that_was_not_compiled_is_said(copy: Path) -> None:
    shutil.rmtree(copy / "build")
    with pytest.raises(DeviceError, match="no exam program") as caught:
        open_parcel(copy)
    assert "--no-compile" in caught.value.hint


def test_a_program_of_another_machine_is_said(copy: Path, package: Packages) -> None:
    shutil.copy(package("rpi4") / "build/digits_exam", copy / "build/digits_exam")
    with pytest.raises(DeviceError, match="its exam program is for aarch64 linux, the package is for"):
        open_parcel(copy)


def test_a_program_that_tells_no_machine_has_the_one_of_the_manifest(copy: Path) -> None:
    (copy / "build/digits_exam").write_bytes(b"#!/bin/sh\n")
    parcel = open_parcel(copy)
    assert (parcel.arch, parcel.os) == (parcel.manifest.arch, "any")


BROKEN: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("name", lambda facts: facts.update(name="../../etc")),
    ("name", lambda facts: facts.update(name=7)),
    ("target", lambda facts: facts.update(target="../rpi4")),
    ("schema_version", lambda facts: facts.update(schema_version=2)),
    ("model_sha256", lambda facts: facts.update(model_sha256="<script>")),
    ("arena", lambda facts: facts.update(arena=None)),
    ("weights.form", lambda facts: facts["weights"].update(form=["bin"])),
    ("weights.bytes", lambda facts: facts["weights"].update(bytes=-1)),
    ("macs", lambda facts: facts.update(macs=True)),
    ("macs", lambda facts: facts.update(macs=10**30)),
    ("vocabularies", lambda facts: facts.update(vocabularies="avx2")),
    ("vocabularies[0]", lambda facts: facts.update(vocabularies=["a b"])),
    ("calls[0].nodes[0]", lambda facts: facts["calls"][0].update(nodes=[1])),
    ("calls[1]", lambda facts: facts["calls"].insert(1, None)),
    ("calls", lambda facts: facts.update(calls={})),
    ("memory[2].address", lambda facts: facts["memory"][2].update(address="0")),
    ("inputs[0].shape", lambda facts: facts["inputs"][0].update(shape=[2**40, 2**40])),
    ("outputs[0].dtype", lambda facts: facts["outputs"][0].update(dtype="object")),
]


@pytest.mark.parametrize(("where", "change"), BROKEN, ids=range(len(BROKEN)))
def test_a_manifest_that_lies_about_types_is_refused_with_the_place(copy: Path, where: str, change: Callable[[Any], object]) -> None:
    edit(copy, change)
    with pytest.raises(UsageError, match="the manifest is broken") as caught:
        open_parcel(copy)
    assert where in [problem.where for problem in caught.value.problems]


def test_all_that_is_wrong_with_a_manifest_is_said_at_once(copy: Path) -> None:
    edit(copy, lambda facts: facts.update(name="", macs="many", precision=None))
    with pytest.raises(UsageError) as caught:
        open_parcel(copy)
    assert {"name", "macs", "precision"} <= {problem.where for problem in caught.value.problems}


def test_a_library_that_is_a_link_out_of_the_package_does_not_travel(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a key")
    (copy / "build/libdigits.a").unlink()
    (copy / "build/libdigits.a").symlink_to(tmp_path / "secret")
    with pytest.raises(UsageError, match="leads out of the package"):
        open_parcel(copy)


def test_a_pipe_among_the_headers_is_refused(copy: Path) -> None:
    os.mkfifo(copy / "include" / "more.h")
    with pytest.raises(UsageError) as caught:
        open_parcel(copy)
    assert [(problem.what, problem.where) for problem in caught.value.problems] == [("is no regular file", "include/more.h")]


def test_a_header_with_a_strange_name_does_not_travel(copy: Path) -> None:
    (copy / "include/a b;c.h").write_text("")
    with pytest.raises(UsageError, match="files that edgec did not write"):
        open_parcel(copy)


def test_a_package_that_would_lie_where_the_lock_lies_is_refused(copy: Path) -> None:
    edit(copy, lambda facts: facts.update(name="lock"))
    with pytest.raises(UsageError, match="cannot be called 'lock'") as caught:
        open_parcel(copy)
    assert "--name" in caught.value.hint


def test_a_package_for_a_target_nobody_knows_is_refused(copy: Path) -> None:
    edit(copy, lambda facts: facts.update(target="rpi9"))
    with pytest.raises(UsageError, match="unknown target 'rpi9'"):
        open_parcel(copy)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"\x7fELF\x02\x01" + bytes(12) + b"\xf3\0", ("linux", "riscv64")),
        (b"\x7fELF\x02\x02" + bytes(12) + b"\0\x15", ("linux", "")),
        (b"\xcf\xfa\xed\xfe\x0c\0\0\x01", ("macos", "aarch64")),
        (b"\xca\xfe\xba\xbe", ("macos", "")),
        (b"MZ" + bytes(58) + b"\x40\0\0\0PE\0\0\x64\x86", ("windows", "x86_64")),
        (b"MZ", ("", "")),
        (b"\x7fELF", ("", "")),
        (b"", ("", "")),
    ],
)
def test_the_first_bytes_of_a_program_tell_its_machine(head: bytes, expected: tuple[str, str]) -> None:
    assert made_for(head) == expected
