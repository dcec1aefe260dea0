"""What an SSH connection owes to the user's own set-up: aliases, jumps, agents, keys, known hosts. On real sshd."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from edgec.base.errors import DeviceError
from edgec.boards.connect.connectors import connect, program_words
from edgec.boards.device import Device
from tests.boards.boards import Board, make_key

RELAY = """
import os, socket, sys, threading
line = socket.create_connection((sys.argv[1], int(sys.argv[2])))
def pump(read, write):
    while data := read():
        write(data)
    os._exit(0)
threading.Thread(target=pump, args=(lambda: line.recv(65536), lambda data: os.write(1, data)), daemon=True).start()
pump(lambda: os.read(0, 65536), line.sendall)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The ~/.ssh of a user who has nothing yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    (tmp_path / ".ssh").mkdir(mode=0o700)
    return tmp_path / ".ssh"


@pytest.fixture
def agent(home: Path, monkeypatch: pytest.MonkeyPatch, needs: Callable[..., None]) -> Iterator[None]:
    needs("ssh-agent")
    socket = home / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    while not socket.exists() and process.poll() is None:
        pass
    monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
    yield
    process.kill()
    process.wait()


def greet(device: Device) -> bytes:
    line = connect(device)
    try:
        return line.execute(["echo", "hello"]).output
    finally:
        line.close()


def bare(board: Board, **changes: object) -> Device:
    """The board as an inventory has it that leaves everything to ~/.ssh."""
    return board.device(**{"user": "", "port": 0, "key": None, "known_hosts": None, **changes})


def entry(board: Board, alias: str, *more: str) -> str:
    lines = [f"HostName {board.address}", f"Port {board.port}", f"UserKnownHostsFile {board.known_hosts}", *more]
    return f"Host {alias}\n " + "\n ".join(lines) + "\n"


def test_an_alias_of_an_included_file_is_all_it_takes(shared_board: Board, home: Path) -> None:
    (home / "boards").write_text(entry(shared_board, "pi", f"IdentityFile {shared_board.key}"))
    (home / "config").write_text("Include boards\n")
    assert greet(bare(shared_board, address="pi")) == b"hello\n"


def test_the_usual_key_and_known_hosts_are_used(shared_board: Board, home: Path) -> None:
    for name, source in (("id_ed25519", shared_board.key), ("known_hosts", shared_board.known_hosts)):
        (home / name).write_bytes(source.read_bytes())
        (home / name).chmod(0o600)
    assert greet(bare(shared_board, port=shared_board.port)) == b"hello\n"


def test_hashed_known_hosts_are_enough(shared_board: Board, home: Path) -> None:
    hashed = home / "hashed"
    hashed.write_bytes(shared_board.known_hosts.read_bytes())
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(hashed)], check=True, capture_output=True)
    assert greet(shared_board.device(known_hosts=hashed)) == b"hello\n"


def test_one_known_key_of_several_is_enough(boards: Callable[..., Board], home: Path) -> None:
    board = boards(host_keys=("ed25519", "ecdsa", "rsa"))
    for kind in ("ecdsa", "rsa", "ed25519"):
        public = (board.folder / f"host_{kind}.pub").read_text()
        board.known_hosts.write_text(f"{board.host} {public}")
        assert greet(board.device()) == b"hello\n"


def test_the_agent_opens_what_a_passphrase_closes(boards: Callable[..., Board], agent: None, home: Path) -> None:
    board = boards()
    make_key(board.key, passphrase="secret")
    (board.folder / "authorized_keys").write_text(board.key.with_suffix(".pub").read_text())
    with pytest.raises(DeviceError, match=r"needs a passphrase.*ssh-add"):
        connect(board.device())
    ask = home / "ask"
    ask.write_text("#!/bin/sh\necho secret\n")
    ask.chmod(0o755)
    answers = {**os.environ, "SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force"}
    subprocess.run(["ssh-add", "-q", str(board.key)], check=True, env=answers, stdin=subprocess.DEVNULL)
    assert greet(board.device()) == b"hello\n"
    assert greet(board.device(key=None)) == b"hello\n"
    (home / "config").write_text(f"IdentityAgent none\nIdentityFile {home}/none\n")
    with pytest.raises(DeviceError, match="takes none of our keys"):
        connect(board.device(key=None))
    (home / "config").write_text(f"IdentityAgent {os.environ.pop('SSH_AUTH_SOCK')}\n")
    assert greet(board.device(key=None)) == b"hello\n"


def test_a_board_behind_two_others_is_reached(boards: Callable[..., Board], home: Path) -> None:
    outer, inner, board = boards(), boards(), boards(options="AllowTcpForwarding no")
    hops = entry(outer, "outer", f"IdentityFile {outer.key}") + entry(inner, "inner", f"IdentityFile {inner.key}")
    (home / "config").write_text(hops + entry(board, "pi", f"IdentityFile {board.key}", "ProxyJump outer,inner"))
    assert greet(bare(board, address="pi")) == b"hello\n"
    assert "inner" not in (outer.folder / "sshd.log").read_text()
    assert all("Accepted publickey" in (each.folder / "sshd.log").read_text() for each in (outer, inner, board))


def test_every_jump_is_verified(boards: Callable[..., Board], home: Path) -> None:
    outer, board = boards(), boards()
    hops = entry(outer, "outer", f"IdentityFile {outer.key}") + entry(board, "pi", f"IdentityFile {board.key}", "ProxyJump outer")
    (home / "config").write_text(hops)
    outer.new_host_key()
    with pytest.raises(DeviceError, match=f"(?s)board.*{outer.address}:{outer.port} has changed"):
        connect(bare(board, address="pi"))


def test_a_jump_that_may_not_forward_is_named(boards: Callable[..., Board], home: Path) -> None:
    outer, board = boards(options="AllowTcpForwarding no"), boards()
    hops = entry(outer, "outer", f"IdentityFile {outer.key}") + entry(board, "pi", f"IdentityFile {board.key}", "ProxyJump outer")
    (home / "config").write_text(hops)
    with pytest.raises(DeviceError, match=f"(?s)cannot connect to .*{board.port} through .*{outer.port}"):
        connect(bare(board, address="pi"))


def test_a_proxy_command_carries_the_line(shared_board: Board, home: Path) -> None:
    (home / "relay.py").write_text(RELAY)
    command = f"{shlex.quote(sys.executable)} {home}/relay.py %h %p"
    (home / "config").write_text(entry(shared_board, "pi", f"IdentityFile {shared_board.key}", f"ProxyCommand {command}"))
    line = connect(bare(shared_board, address="pi"))
    data = os.urandom(3_000_000)
    assert line.execute(["cat"], data=data).output == data
    line.close()


def test_the_last_words_of_a_proxy_command_are_told(shared_board: Board, home: Path) -> None:
    (home / "config").write_text(entry(shared_board, "pi", "ProxyCommand echo no way >&2; exit 1"))
    with pytest.raises(DeviceError, match="no way"):
        connect(bare(shared_board, address="pi"))


def test_what_start_up_files_print_is_no_answer(boards: Callable[..., Board], walls: None) -> None:
    board = boards()
    (board.folder / "home/.bashrc").write_text("echo welcome to the board; echo have a nice day >&2\n")
    line = connect(board.device())
    answer = line.execute(["sh", "-c", "echo out; echo err >&2"])
    assert (answer.output, answer.errors) == (b"out\n", b"err\n")
    line.close()


def test_relative_paths_begin_at_home(boards: Callable[..., Board], walls: None) -> None:
    board = boards()
    line = connect(board.device(work=".cache/edgec"))
    line.make_folder(line.device.work)
    line.write(f"{line.device.work}/file", b"here")
    assert (board.folder / "home/.cache/edgec/file").read_bytes() == b"here"
    assert line.execute(["cat", ".cache/edgec/file"]).output == b"here"
    line.close()


def test_an_upload_goes_on_where_it_stopped(shared_board: Board) -> None:
    line = connect(shared_board.device())
    path, data = f"{line.device.work}/resumed", os.urandom(3_000_000)
    Path(path).write_bytes(data[:2_000_000])
    told: list[int] = []
    line.write(path, data, resume=True, sent=told.append)
    assert (told[0], told[-1], Path(path).read_bytes() == data) == (2_000_000, 3_000_000, True)
    Path(path).write_bytes(b"x" + data[1:2_000_000])
    line.write(path, data, resume=True, sent=told.append)
    assert Path(path).read_bytes() == data
    line.close()


@pytest.mark.parametrize(
    ("target", "prefix"), [("rpi4", ("qemu-aarch64", "-cpu", "cortex-a72")), ("rpi-32bit", ("qemu-arm", "-cpu", "cortex-a15"))]
)
def test_an_exam_of_another_processor_runs_behind_its_prefix(
    shared_board: Board, package: Callable[..., Path], needs: Callable[..., None], target: str, prefix: tuple[str, ...]
) -> None:
    needs(prefix[0])
    line = connect(replace(shared_board.device(target=target), prefix=prefix))
    program = f"{line.device.work}/digits_exam"
    line.write(program, next((package(target) / "build").glob("*_exam")).read_bytes(), mode=0o755)
    answer = line.execute(program_words(line.device, program, "--json"))
    assert (answer.status, b'"passed": true}\n' in answer.output) == (0, True)
    line.close()
