"""Signatures reach the board: what travels, and what runs, are the very bytes that a key signed; and no board goes back unasked."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest

import edgec
from edgec.base.errors import DeviceError, GateError, UsageError
from edgec.boards.board.exam_program import examine
from edgec.boards.board.inventory import Inventory
from edgec.boards.connect.connectors import connect
from edgec.boards.deploy.counter import highest_of
from edgec.boards.deploy.delivery import deployed
from edgec.boards.deploy.parcel import open_parcel
from edgec.boards.deploy.versions import pointers, version_folder
from edgec.boards.device import Device
from edgec.cli.main import main
from edgec.provenance.signature import sign
from edgec.provenance.signing_keys import read_private_key
from tests.apps.signers import keys_in
from tests.boards.conftest import DIGITS
from tests.boards.test_deploy_verb import inventory_file
from tests.conftest import require

SAMPLE = np.zeros((1, 1, 8, 8), np.float32)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys, and two versions of a package, both signed; for reading only."""
    require("gcc")
    folder = tmp_path_factory.mktemp("signed")
    keys_in(folder)
    for number in (2, 3):
        out = folder / f"v{number}"
        settings = {"precision": "fp32", "package_version": number, "sign": folder / "key", "cc": "gcc -O0"}
        edgec.build(DIGITS / "digits.onnx", target="host", out=out, **settings)
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """The third version, to change."""
    return Path(shutil.copytree(made / "v3", tmp_path / "copy"))


def in_use(device: Device) -> dict[str, str]:
    line = connect(device)
    try:
        return deployed(line)
    finally:
        line.close()


def shelf(device: Device) -> Inventory:
    return Inventory(None, (device,))


def test_the_lists_and_the_signature_travel_along(empty_board: Device, made: Path) -> None:
    (done,) = edgec.deploy(made / "v3", inventory=shelf(empty_board), key=made / "key.pub")
    line = connect(empty_board)
    try:
        folder = version_folder(line, "digits", done.version)
        for name in ("manifest.json", "build.json", "manifest.sig"):
            assert line.read(f"{folder}/{name}") == (made / "v3" / name).read_bytes()
        assert highest_of(line, "digits") == 3
    finally:
        line.close()


CHANGED = ("build/digits_exam", "build/libdigits.so", "include/digits.h", "manifest.json", "build.json", "manifest.sig")


@pytest.mark.parametrize("path", CHANGED)
def test_nothing_that_was_changed_travels(empty_board: Device, made: Path, copy: Path, path: str) -> None:
    content = (copy / path).read_bytes()
    (copy / path).write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
    with pytest.raises((GateError, UsageError)) as caught:
        edgec.deploy(copy, inventory=shelf(empty_board), key=made / "key.pub")
    assert any(path in str(problem) for problem in caught.value.problems) or path == "manifest.json"
    assert in_use(empty_board) == {}


def test_a_package_of_nobody_and_one_of_somebody_else_are_refused(empty_board: Device, made: Path, copy: Path) -> None:
    texts = {name: (copy / name).read_bytes() for name in ("manifest.json", "build.json")}
    (copy / "manifest.sig").write_bytes(sign(texts, read_private_key(made / "other")))
    with pytest.raises(GateError, match="signed by another key"):
        edgec.deploy(copy, inventory=shelf(empty_board), key=made / "key.pub")
    (copy / "manifest.sig").unlink()
    with pytest.raises(GateError, match="the package is not signed"):
        edgec.deploy(copy, inventory=shelf(empty_board), key=made / "key.pub")
    with pytest.raises(GateError, match="not signed"):
        edgec.run(copy, {"image": SAMPLE}, key=made / "key.pub")
    with pytest.raises(GateError, match="not signed"):
        file = inventory_file(copy.parent, empty_board)
        edgec.bench(copy, everything=True, inventory=file, key=made / "key.pub", out=copy.parent / "bench")
    assert in_use(empty_board) == {}


def test_a_file_that_is_added_to_a_signed_package_stays_here(empty_board: Device, made: Path, copy: Path) -> None:
    (copy / "include/extra.h").write_text("#error owned\n")
    with pytest.raises(GateError, match="is no part of the package"):
        edgec.deploy(copy, inventory=shelf(empty_board), key=made / "key.pub")


def test_what_travels_is_what_was_verified_whatever_becomes_of_the_folder(
    empty_board: Device, made: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil(device: Device) -> object:
        (copy / "build/digits_exam").write_text("#!/bin/sh\ntouch owned\n")
        return connect(device)

    monkeypatch.setattr("edgec.verbs.deploy.connect", spoil)  # the last moment before anything is sent
    (done,) = edgec.deploy(copy, inventory=shelf(empty_board), key=made / "key.pub")
    assert done.status == "deployed" and done.version == open_parcel(made / "v3").version


def test_what_runs_is_what_was_verified_although_somebody_changes_it_all_the_time(made: Path, copy: Path, tmp_path: Path) -> None:
    program, owned, ended = copy / "build/digits_exam", tmp_path / "owned", Event()
    evil, good = tmp_path / "evil", tmp_path / "good"
    evil.write_text(f"#!/bin/sh\ntouch {owned}\n")
    evil.chmod(0o755)
    shutil.copy(program, good)

    def swap() -> None:
        while not ended.is_set():
            for source in (evil, good):
                shutil.copy(source, aside := tmp_path / "aside")
                os.replace(aside, program)

    thread = Thread(target=swap)
    thread.start()
    answers = refused = 0
    try:
        for _ in range(12):
            try:
                edgec.run(copy, {"image": SAMPLE}, key=made / "key.pub")
                answers += 1
            except GateError:
                refused += 1
    finally:
        ended.set()
        thread.join()
    assert answers + refused == 12 and not owned.exists()
    os.replace(good, program)
    assert set(edgec.run(copy, {"image": SAMPLE}, key=made / "key.pub")) == {"logits"}


def test_the_key_of_the_current_folders_settings_counts_and_none_beside_a_package(
    made: Path, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("in.npz", image=SAMPLE)
    (copy / "manifest.sig").unlink()
    (copy / "edgec.toml").write_text('[build]\nkey = "/nowhere"\n')
    assert main(["run", "copy", "-i", "in.npz"]) == 0, "nobody asked for a key"
    (copy / "edgec.toml").unlink()
    (tmp_path / "edgec.toml").write_text(f'[build]\nkey = "{made / "key.pub"}"\n')
    for words in (["run", "copy", "-i", "in.npz"], ["deploy", "copy"], ["bench", "copy"]):
        board = [] if words[0] == "run" else ["--devices", inventory_file(tmp_path, Device("here", "host", "local", work="w")), "--all"]
        capfd.readouterr()
        assert main([*words, *board]) == 1
        assert "the package is not signed" in capfd.readouterr().err
    shutil.copy(made / "v3/manifest.sig", copy)
    assert main(["run", "copy", "-i", "in.npz", "--key", str(made / "other.pub")]) == 1, "the flag counts before the file"
    assert main(["run", "copy", "-i", "in.npz"]) == 0


def test_the_exam_program_checks_the_files_of_its_package_on_the_board(empty_board: Device, made: Path) -> None:
    (done,) = edgec.deploy(made / "v3", inventory=shelf(empty_board))
    line = connect(empty_board)
    try:
        folder = version_folder(line, "digits", done.version)
        program = f"{folder}/build/digits_exam"
        assert examine(line, program, listing=done.version).passed
        line.write(f"{folder}/include/digits.h", b"#error owned\n")
        line.remove(f"{folder}/build/libdigits.a")
        with pytest.raises(GateError, match="are not those of the package") as caught:
            examine(line, program, listing=done.version)
        assert {problem.where for problem in caught.value.problems} == {"include/digits.h", "build/libdigits.a"}
        listing = json.loads(line.read(f"{folder}/files.json") or b"")
        del listing["files"]["include/digits.h"], listing["files"]["build/libdigits.a"]
        line.write(f"{folder}/files.json", (json.dumps(listing, indent=1) + "\n").encode())
        with pytest.raises(GateError, match="are not those of the package"):
            examine(line, program, listing=done.version)
    finally:
        line.close()


def test_a_board_goes_back_to_no_version_below_the_highest_it_accepted(empty_board: Device, made: Path) -> None:
    board = shelf(empty_board)
    edgec.deploy(made / "v2", inventory=board)
    (third,) = edgec.deploy(made / "v3", inventory=board)
    for dry in (True, False):
        with pytest.raises(DeviceError, match="version 2 of digits is older than 3") as caught:
            edgec.deploy(made / "v2", inventory=board, dry_run=dry)
        assert "--allow-downgrade" in caught.value.hint and in_use(empty_board) == {"digits": third.version}
    (second,) = edgec.deploy(made / "v2", inventory=board, allow_downgrade=True)
    assert in_use(empty_board) == {"digits": second.version}
    with pytest.raises(DeviceError, match="older than 3"):
        edgec.deploy(made / "v2", inventory=board)
    line = connect(empty_board)
    try:
        assert highest_of(line, "digits") == 3 and pointers(line, "digits").previous == third.version
    finally:
        line.close()
    (back,) = edgec.deploy(made / "v3", inventory=board, roll_back=True)
    assert back.version == third.version


def test_a_package_without_a_number_comes_before_all_that_have_one(tmp_path: Path, made: Path, copy: Path) -> None:
    device = Device("here", "host", "local", work=str(tmp_path / "work"))
    edgec.deploy(made / "v2", inventory=shelf(device))
    facts = json.loads((copy / "manifest.json").read_text())
    del facts["package_version"]
    (copy / "manifest.json").write_text(json.dumps(facts))
    with pytest.raises(DeviceError, match="without a number"):
        edgec.deploy(copy, inventory=shelf(device))


@pytest.mark.parametrize("text", ["", "many", "-1", "9" * 60, "\u0663"])
def test_a_number_that_cannot_be_read_is_no_way_back(tmp_path: Path, made: Path, text: str) -> None:
    device = Device("here", "host", "local", work=str(tmp_path / "work"))
    edgec.deploy(made / "v3", inventory=shelf(device))
    (tmp_path / "work/digits/highest").write_text(text, encoding="utf-8")
    with pytest.raises(DeviceError, match="does not tell which version"):
        edgec.deploy(made / "v2", inventory=shelf(device))
    edgec.deploy(made / "v3", inventory=shelf(device), allow_downgrade=True)
    assert (tmp_path / "work/digits/highest").read_text() == "3\n"


def test_an_exam_that_fails_raises_no_number(tmp_path: Path, made: Path, copy: Path) -> None:
    device = Device("here", "host", "local", work=str(tmp_path / "work"))
    edgec.deploy(made / "v2", inventory=shelf(device))
    program = copy / "build/digits_exam"
    data = bytearray(program.read_bytes())
    data[data.find((copy / "src/digits_weights.bin").read_bytes()[:64]) + 8] ^= 0x55
    program.write_bytes(data)
    with pytest.raises(GateError):
        edgec.deploy(copy, inventory=shelf(device))
    assert (tmp_path / "work/digits/highest").read_text() == "2\n"


def test_bench_measures_versions_side_by_side_but_not_below_what_a_board_has(tmp_path: Path, made: Path) -> None:
    device = Device("here", "host", "local", work=str(tmp_path / "work"))
    settings = {"everything": True, "inventory": inventory_file(tmp_path, device), "seconds": 0.01, "runs": 1, "rounds": 2, "threads": [1]}
    both = [made / "v2", made / "v3"]
    found = edgec.bench(both, out=tmp_path / "one", key=made / "key.pub", repeats=0, pause=0, **settings)
    assert {job.status for job in found.jobs} <= {"passed", "unsteady"} and not (tmp_path / "work/digits/highest").exists()
    edgec.deploy(made / "v3", inventory=shelf(device))
    found = edgec.bench(both[0], out=tmp_path / "two", repeats=0, pause=0, **settings)
    assert [job.status for job in found.jobs] == ["refused"] and "older than 3" in found.jobs[0].reason
    found = edgec.bench(both[0], out=tmp_path / "three", repeats=0, pause=0, allow_downgrade=True, **settings)
    assert {job.status for job in found.jobs} <= {"passed", "unsteady"}


def test_a_version_is_a_positive_number() -> None:
    for number in (0, -1, "x", 2**60):
        with pytest.raises(UsageError, match="settings cannot be used"):
            edgec.plan(DIGITS / "digits.onnx", precision="fp32", package_version=number)
