"""`edgec devices`: as users call it, with boards that answer and boards that don't."""

from __future__ import annotations

import os
import platform
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from edgec.base.errors import UsageError
from edgec.boards.board.checks import check_devices, propose_device
from edgec.boards.board.entry import entry_text
from edgec.boards.board.inventory import load_inventory
from edgec.boards.device import Device, Limits
from edgec.cli.main import main
from edgec.targets import host_name
from tests.boards.boards import Board
from tests.boards.inventories import keep
from tests.boards.phones import adb_server, phone
from tests.calling import Ended, Program


@pytest.fixture
def devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Program:
    """`edgec devices`, in this process and an empty folder."""
    monkeypatch.delenv("EDGEC_DEVICES", raising=False)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Ended:
        capfd.readouterr()
        code = main(["devices", *map(str, arguments)])
        return Ended(code, *capfd.readouterr())

    return call


def closed_port() -> int:
    """A port of this machine where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def dead(name: str = "dead") -> Device:
    return Device(name, "rpi4", "ssh", "127.0.0.1", port=closed_port(), limits=Limits(connect=5), tags=("far",))


HERE = Device("here", "host", "local", tags=("near",))


def test_without_an_inventory_this_machine_is_listed_and_fits(devices: Program) -> None:
    ended = devices("list")
    assert ended.code == 0 and ended.out.splitlines()[1].split() == ["local", "host", "local"]
    ended = devices("check")
    assert ended.code == 0 and ended.out.splitlines()[1].split()[:3] == ["local", "ok", "host"]


def test_a_list_needs_no_board(devices: Program) -> None:
    keep(HERE, dead(), Device("phone", "android-arm64", "adb", "R5CT", cores=(6, 7)))
    ended = devices("list", "--json")
    assert ended.code == 0 and ended.json["inventory"] == "devices.yaml"
    assert [(item["name"], item["cores"]) for item in ended.json["devices"]] == [("here", []), ("dead", []), ("phone", [6, 7])]
    assert [item["name"] for item in devices("list", "--json", "--tag", "far", "--device", "phone").json["devices"]] == ["dead", "phone"]


def test_a_dead_board_does_not_hide_a_live_one(devices: Program) -> None:
    keep(dead(), HERE, dead("other"))
    ended = devices("check", "--json")
    assert ended.code == 5
    found = {item["name"]: item for item in ended.json["devices"]}
    assert [item["verdict"] for item in found.values()] == ["unreachable", "ok", "unreachable"]
    assert found["here"]["facts"]["machine"] == platform.machine() and found["dead"]["facts"] is None
    assert "refused" in found["dead"]["problems"][0]["what"].lower() and found["dead"]["problems"][0]["hint"]
    ended = devices("check")
    assert ended.code == 5 and ended.out.count("\n") >= 6 and "problem: dead" in ended.out
    assert devices("check", "--tag", "near").code == 0


def test_a_board_of_another_kind_is_unfit_with_what_to_write(devices: Program) -> None:
    keep(Device("here", "linux-riscv64", "local", cores=(999,)))
    ended = devices("check")
    assert ended.code == 5 and "here    unfit" in ended.out
    assert "target linux-riscv64 is for riscv64 and the board runs" in ended.out and f"hint: target: {host_name()}" in ended.out
    assert "cores 999 are not there" in ended.out


def test_a_folder_that_cannot_be_written_is_a_problem(devices: Program) -> None:
    keep(Device("here", "host", "local", work="/proc/1/edgec"))
    ended = devices("check")
    assert ended.code == 5 and "here: the work folder /proc/1/edgec cannot be written" in ended.out


def test_a_board_is_shown_with_its_entry_and_what_it_is(devices: Program) -> None:
    keep(HERE)
    ended = devices("show", "here")
    assert ended.code == 0 and "connection  local" in ended.out and f"machine       {platform.machine()}" in ended.out
    facts = devices("show", "here", "--json").json
    assert facts["entry"]["tags"] == ["near"] and facts["facts"]["cores"] >= 1 and facts["state"]["load"] is not None


def test_the_entry_of_a_dead_board_is_shown_too(devices: Program) -> None:
    keep(dead())
    ended = devices("show", "dead")
    assert ended.code == 5 and "127.0.0.1" in ended.out and "problem: dead" in ended.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("chek",), "did you mean 'check'?"),
        ((), "the following arguments are required"),
        (("show",), "the following arguments are required: NAME    hint: see edgec devices show --help"),
        (("add",), "the following arguments are required: HOST"),
        (("show", "hree"), "unknown device 'hree'    hint: did you mean 'here'?"),
        (("check", "here"), "hint: --device here"),
        (("check", "--tag", "naer"), "did you mean 'near'?"),
        (("show", "here", "--all"), "--device, --tag and --all go with `list` and `check` only"),
        (("list", "--write"), "--write goes with `add` only"),
        (("list", "--devices", "no.yaml"), "no.yaml: cannot read the inventory"),
        (("add", "-oProxyCommand=x"), "error: "),
        (("add", "a b"), "add: a-b: address: 'a b' cannot be used"),
        (("add", "x", "--port", "99999"), "port: must be within 1 and 65535"),
        (("add", "x", "--name", "../x"), "'../x' is no name for a board"),
        (("add", "x", "--key", "nokey"), "key: there is no file"),
    ],
)
def test_what_is_not_understood_is_told(devices: Program, arguments: tuple[str, ...], words: str) -> None:
    keep(HERE)
    ended = devices(*arguments)
    assert ended.code == 2 and words in ended.err and "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("action", "shown", "hidden"),
    [
        ("list", "--tag", "--port"),
        ("check", "--all", "NAME"),
        ("show", "NAME", "--all"),
        ("show", "NAME", "--write"),
        ("add", "HOST", "--tag"),
    ],
)
def test_each_action_has_a_help_page_with_its_own_flags(action: str, shown: str, hidden: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["devices", action, "--help"])
    page = capsys.readouterr().out
    assert page.startswith(f"usage: edgec devices {action} ") and "--devices FILE" in page and "--json" in page
    assert shown in page.replace("--device NAME", "") and hidden not in page.replace("--device NAME", "") and "add: " not in page


def test_flags_count_before_the_action_and_after_it(devices: Program) -> None:
    keep(HERE, dead()).rename("mine.yaml")
    found = devices("--json", "--devices", "mine.yaml", "--device", "here", "list", "--device", "dead").json["devices"]
    assert [item["name"] for item in found] == ["here", "dead"]
    assert devices("--name", "new", "add", "x", "--connection", "local").out.splitlines()[-3] == "new:"


def test_a_broken_inventory_stops_everything_and_tells_all(devices: Program) -> None:
    Path("devices.yaml").write_text("devices:\n  a: {target: rpi9}\n  a: {}\n  b: {connection: ssh, password: x}\n")
    ended = devices("check", "--json")
    assert ended.code == 2 and len(ended.json["problems"]) >= 5


def test_a_new_board_is_proposed_and_then_kept(devices: Program, tmp_path: Path) -> None:
    ended = devices("add", "bench", "--connection", "local")
    assert ended.code == 0 and ended.out.endswith(f"bench:\n  target: {host_name()}\n  connection: local\n")
    assert "devices.yaml" in ended.err and not Path("devices.yaml").exists()
    assert devices("add", "bench", "--connection", "local", "--write").code == 0
    assert [item.name for item in load_inventory().devices] == ["local", "bench"]
    before = Path("devices.yaml").read_text() + "# mine\n"
    Path("devices.yaml").write_text(before)
    assert devices("add", "x", "--name", "two", "--connection", "local", "--write", "--json").json["written"] == "devices.yaml"
    assert Path("devices.yaml").read_text() == f"{before}  two:\n    target: {host_name()}\n    connection: local\n"
    ended = devices("add", "bench", "--connection", "local", "--write")
    assert ended.code == 2 and "there is a board 'bench' already" in ended.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["devices.yaml"], "nothing is left beside it"


def test_an_inventory_behind_a_link_stays_behind_it(devices: Program, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    keep(HERE).rename("kept/real.yaml")
    os.symlink("kept/real.yaml", "devices.yaml")
    assert devices("add", "b", "--connection", "local", "--write").code == 0
    assert Path("devices.yaml").is_symlink() and "b:" in Path("kept/real.yaml").read_text()


@pytest.mark.skipif(platform.system() == "Windows", reason="modes of POSIX")
def test_an_inventory_that_is_wrong_is_not_added_to(devices: Program) -> None:
    keep(HERE).chmod(0o600)
    assert devices("add", "b", "--connection", "local", "--write").code == 0
    assert stat.S_IMODE(Path("devices.yaml").stat().st_mode) == 0o600, "its mode stays"
    Path("devices.yaml").write_text("devices: {a: 1}\n")
    assert devices("add", "c", "--connection", "local", "--write").code == 2
    assert Path("devices.yaml").read_text() == "devices: {a: 1}\n"


def test_boards_are_asked_at_once(boards: Callable[..., Board]) -> None:
    """Each of two boards answers only after the other one was asked."""
    first, second = boards(), boards()
    for mine, other in ((first, second), (second, first)):
        mine.program(
            "vcgencmd", f'touch "{mine.folder}/asked"; until [ -e "{other.folder}/asked" ]; do sleep 0.05; done; echo throttled=0x0'
        )
    found = check_devices([first.device("a", prefix=("env",)), second.device("b", prefix=("env",))])
    assert [item.verdict for item in found] == ["ok", "ok"], found


def test_a_board_behind_ssh_is_added_checked_and_shown(devices: Program, board: Board) -> None:
    config = keep(HERE)
    device = board.device()
    known = f"{config.read_text()}"
    found, facts = propose_device(
        f"{device.user}@{device.address}", name="kitchen", port=device.port, key=str(device.key), known_hosts=str(device.known_hosts)
    )
    assert found.target == host_name() and found.user == device.user and facts.cores >= 1
    text = "".join(f"  {line}\n" for line in entry_text(found).splitlines())
    config.write_text(known + text)
    board.program("vcgencmd", "echo throttled=0x1")
    ended = devices("check")
    assert ended.code == 0 and "kitchen  ok" in ended.out and "remark: kitchen: it slows down: under-voltage" in ended.out
    assert devices("show", "kitchen").code == 0


def test_a_phone_is_added_by_its_serial_number(
    devices: Program, needs: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("adb")
    monkeypatch.delenv("ANDROID_SERIAL", raising=False)
    with adb_server(tmp_path) as environment, phone(tmp_path / "phone") as known:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        ended = devices("add", known.address, "--connection", "adb", "--name", "pixel", "--write")
        assert ended.code == 0, ended.err
        assert devices("check", "--device", "pixel").out.splitlines()[1].split()[:3] == ["pixel", "ok", host_name()]
    assert load_inventory().devices[-1] == Device("pixel", host_name(), "adb", known.address)


def test_a_board_that_nobody_knows_is_not_added(board: Board, devices: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    ended = devices("add", board.address, "--port", board.port, "--key", board.key, "--name", "new", "--write")
    assert ended.code == 5 and "new" in ended.err and "hint: " in ended.err and not Path("devices.yaml").exists()


def test_a_full_disk_is_unfit(walls: None, board: Board) -> None:
    board.mount(board.work, "size=1m")
    (found,) = check_devices([board.device()])
    assert found.verdict == "unfit" and "are free for the work folder" in str(found.problems[0])


def test_keys_that_an_entry_does_not_have_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown key 'pork'"):
        propose_device("x", pork=1)


def test_a_new_board_is_trusted_by_a_file_of_host_keys_whose_path_is_written_straight(devices: Program, board: Board) -> None:
    Path("below").mkdir()
    crooked = [os.path.relpath(path, ".") for path in (board.known_hosts, board.key)]
    words = ["add", board.address, "--port", board.port, "--name", "new", "--write"]
    ended = devices(*words, "--known-hosts", f"below/../{crooked[0]}", "--key", f"below/../{crooked[1]}")
    assert ended.code == 0, ended.err
    assert ".." not in Path("devices.yaml").read_text()
    (new,) = [device for device in load_inventory(None).devices if device.name == "new"]
    assert new.known_hosts is not None and new.known_hosts.samefile(board.known_hosts)
    assert devices("check", "--device", "new").code in (0, 5) and "unreachable" not in devices("check", "--device", "new").out
    Path("none").touch()
    ended = devices(*words[:-1], "--known-hosts", "none", "--key", board.key)
    assert ended.code == 5 and "is unknown: it shows" in ended.err
    assert "--known-hosts goes with `add` only" in devices("list", "--known-hosts", "none").err
