"""edgec deploy and edgec.deploy: several kinds of boards at once, and what is said when some of them fail."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import edgec
from edgec.base.errors import DeviceError, GateError, UsageError
from edgec.boards.board.entry import entry_text
from edgec.boards.board.inventory import Inventory
from edgec.boards.connect.connectors import connect
from edgec.boards.deploy.delivery import deployed
from edgec.boards.deploy.lock import hold
from edgec.boards.deploy.parcel import open_parcel
from edgec.boards.device import Device
from edgec.cli.main import main
from edgec.verbs.deploy import Deployed
from tests.boards.boards import Board
from tests.boards.deploying import mark

Packages = Callable[..., Path]


@pytest.fixture
def here(tmp_path: Path) -> Device:
    return Device("here", "host", "local", work=str(tmp_path / "here"))


@pytest.fixture
def there(shared_board: Board, tmp_path: Path) -> Device:
    return shared_board.device("there", work=str(tmp_path / "there"))


def shelf(*devices: Device) -> Inventory:
    return Inventory(None, devices)


def inventory_file(folder: Path, *devices: Device) -> str:
    path = folder / "devices.yaml"
    path.write_text("devices:\n" + "".join(f"  {line}\n" for device in devices for line in entry_text(device).splitlines()))
    return str(path)


def in_use(device: Device) -> dict[str, str]:
    connection = connect(device)
    try:
        return deployed(connection)
    finally:
        connection.close()


@pytest.fixture
def broken(package: Packages, tmp_path: Path) -> Path:
    """A package whose exam fails: a byte of the weights inside the program is another."""
    copy = Path(shutil.copytree(package("host"), tmp_path / "broken"))
    program = copy / "build/digits_exam"
    data = bytearray(program.read_bytes())
    data[data.find((copy / "src/digits_weights.bin").read_bytes()[:64]) + 8] ^= 0x55
    program.write_bytes(data)
    return copy


def test_a_package_is_deployed_to_all_chosen_boards_and_proven_there(here: Device, there: Device, package: Packages) -> None:
    results = edgec.deploy(package("host"), everything=True, inventory=shelf(here, there))
    version = open_parcel(package("host")).version
    assert [(item.device, item.status, item.version) for item in results] == [("here", "deployed", version), ("there", "deployed", version)]
    assert all(item.exam is not None and item.exam.passed and item.sent_files == 7 for item in results)
    assert in_use(here) == in_use(there) == {"digits": version}


def test_an_arm_package_is_deployed_behind_a_prefix(there: Device, package: Packages, needs: Callable[..., None]) -> None:
    needs("qemu-aarch64")
    board = replace(there, target="rpi4", prefix=("qemu-aarch64", "-cpu", "cortex-a72"))
    (result,) = edgec.deploy(package("rpi4"), inventory=shelf(board))
    assert result.exam is not None
    assert (result.status, result.exam.isa) == ("deployed", "neon")


@pytest.mark.parametrize(("target", "arch"), [("rpi4", "aarch64"), ("rpi-32bit", "armv7")])
def test_a_package_for_another_processor_is_refused_with_the_reason(
    there: Device, package: Packages, tmp_path: Path, target: str, arch: str
) -> None:
    seen: list[Deployed] = []
    with pytest.raises(DeviceError, match=f"there: refused: the package is for {arch} and the board runs") as caught:
        edgec.deploy(package(target), inventory=shelf(there), finished=seen.append)
    assert caught.value.hint.startswith("build for it: --target ")
    assert [item.status for item in seen] == ["refused"]
    assert not (tmp_path / "there").exists()


def test_a_failed_exam_is_a_gate_and_leaves_the_version_before_in_use(here: Device, package: Packages, broken: Path) -> None:
    edgec.deploy(package("host"), inventory=shelf(here))
    with pytest.raises(GateError, match="here: the exam failed with vocabulary") as caught:
        edgec.deploy(broken, inventory=shelf(here))
    assert "this version was withdrawn; in use is" in str(caught.value)
    assert in_use(here) == {"digits": open_parcel(package("host")).version}


def test_a_program_that_crashes_leaves_the_version_before_in_use(here: Device, package: Packages, broken: Path) -> None:
    edgec.deploy(package("host"), inventory=shelf(here))
    (broken / "build/digits_exam").write_text("#!/bin/sh\nkill -4 $$\n")
    with pytest.raises(DeviceError, match="killed by signal SIGILL") as caught:
        edgec.deploy(broken, inventory=shelf(here))
    assert "this version was withdrawn; in use is" in str(caught.value)
    assert in_use(here) == {"digits": open_parcel(package("host")).version}


def test_one_board_that_fails_does_not_stop_the_others_and_all_problems_come_together(
    here: Device, there: Device, package: Packages, tmp_path: Path
) -> None:
    gone = Device("gone", "host", "ssh", address="127.0.0.1", port=9, known_hosts=tmp_path / "none", limits=replace(here.limits, connect=2))
    arm = replace(here, name="arm", target="rpi4", connection="emulated", work=str(tmp_path / "arm"))
    busy = replace(here, name="busy", work=str(tmp_path / "busy"))
    seen: list[Deployed] = []
    line = connect(busy)
    with hold(line, "ada@lab"), pytest.raises(DeviceError) as caught:
        edgec.deploy(package("host"), everything=True, inventory=shelf(gone, arm, busy, here, there), finished=seen.append)
    line.close()
    statuses = {item.device: item.status for item in seen}
    assert statuses == {"gone": "unreachable", "arm": statuses["arm"], "busy": "busy", "here": "deployed", "there": "deployed"}
    assert statuses["arm"] in ("failed", "refused")
    assert caught.value.summary == "digits is not deployed on 3 of 5 boards"
    assert {"gone", "arm", "busy"} <= {problem.where for problem in caught.value.problems}
    assert "in use by ada@lab" in str(caught.value)
    assert all(item.reason.startswith(item.device) for item in seen if item.status in ("unreachable", "busy"))


def test_roll_back_returns_to_the_version_before_and_proves_it(here: Device, package: Packages) -> None:
    first = open_parcel(package("host")).version
    edgec.deploy(package("host"), inventory=shelf(here))
    edgec.deploy(package("host", "fp32"), inventory=shelf(here))
    (planned,) = edgec.deploy(package("host"), inventory=shelf(here), roll_back=True, dry_run=True)
    assert (planned.status, planned.version) == ("planned", first)
    (result,) = edgec.deploy(package("host"), inventory=shelf(here), roll_back=True)
    assert result.exam is not None
    assert (result.status, result.version, result.exam.passed) == ("rolled back", first, True)
    assert in_use(here) == {"digits": first}
    (again,) = edgec.deploy(package("host"), inventory=shelf(here), roll_back=True)
    assert again.version == open_parcel(package("host", "fp32")).version


def test_a_dry_run_says_what_would_travel_and_changes_nothing(here: Device, package: Packages, tmp_path: Path) -> None:
    (result,) = edgec.deploy(package("host"), inventory=shelf(here), dry_run=True)
    assert (result.status, result.sent_files, result.kept_files, result.exam) == ("planned", 7, 0, None)
    assert not (tmp_path / "here").exists()


def test_progress_of_each_board_ends_complete(here: Device, there: Device, package: Packages) -> None:
    steps: dict[str, list[tuple[int, int]]] = {}
    edgec.deploy(
        package("host"),
        everything=True,
        inventory=shelf(here, there),
        progress=lambda *said: steps.setdefault(said[0], []).append(said[1:]),
    )
    assert set(steps) == {"here", "there"}
    assert all(said == sorted(said) and said[-1][0] == said[-1][1] for said in steps.values())


def test_an_interrupt_reaches_the_caller_and_leaves_no_lock(here: Device, there: Device, package: Packages, tmp_path: Path) -> None:
    def interrupt(item: Deployed) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        edgec.deploy(package("host"), everything=True, inventory=shelf(here, there), finished=interrupt)
    assert not any(mark(tmp_path / name) for name in ("here", "there"))


def test_no_board_is_touched_when_the_choice_is_wrong(here: Device, package: Packages, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="heer"):
        edgec.deploy(package("host"), devices=["heer"], inventory=shelf(here))
    assert not (tmp_path / "here").exists()


def test_the_verb_prints_a_row_for_each_board(here: Device, package: Packages, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deploy", str(package("host")), "--devices", inventory_file(tmp_path, here), "--device", "here"]) == 0
    head, row = (line.split() for line in capsys.readouterr().out.strip().splitlines())
    assert head == ["board", "target", "status", "version", "sent", "bytes", "kept", "exam", "seconds"]
    assert row[:4] == ["here", "host", "deployed", open_parcel(package("host")).version[:12]]
    assert "passed," in row


def test_the_verb_prints_one_json_document_and_its_exit_code_is_the_failures(
    here: Device, package: Packages, broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inventory = inventory_file(tmp_path, here, replace(here, name="arm", target="rpi4", work=str(tmp_path / "arm")))
    words = ["deploy", "--devices", inventory, "--json"]
    answers: list[dict[str, Any]] = []
    for package_path, choice in ((package("rpi4"), "--all"), (broken, "--device=here")):
        code = main([*words, str(package_path), choice])
        answers.append(json.loads(capsys.readouterr().out))
        assert answers[-1]["exit_code"] == code
    assert [answer["exit_code"] for answer in answers] == [5, 1]
    assert {item["device"]: item["status"] for item in answers[0]["boards"]} == {"here": "refused", "arm": "refused"}
    assert answers[1]["boards"][0]["reason"].startswith("here: the exam failed")
    assert main([*words, str(tmp_path), "--all"]) == 2
    assert json.loads(capsys.readouterr().out)["exit_code"] == 2
