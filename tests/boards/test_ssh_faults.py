"""What goes wrong between us and a board, on real sshd: every fault ends in time, names the board and says how to go on."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from edgec.base.errors import DeviceError
from edgec.boards.connect.connection import Connection
from edgec.boards.connect.connectors import connect
from edgec.boards.connect.ssh import SshConnection
from edgec.boards.connect.ssh_session import Session
from edgec.boards.connect.trouble import BoardLost, BoardTimeout
from edgec.boards.device import Device
from tests.boards.boards import LIMITS, Board, loopback, make_key

BRIEF = replace(LIMITS, connect=1.5, command=3, transfer=2, run=3)
DATA = os.urandom(4_000_000)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The ~/.ssh of a user who has nothing, not even an agent."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return tmp_path / ".ssh"


@pytest.fixture
def line(board: Board) -> Iterator[Connection]:
    opened = connect(board.device(limits=BRIEF))
    yield opened
    opened.close()


@contextmanager
def fails(kind: type[DeviceError], said: str, seconds: float = 20) -> Iterator[None]:
    """The statement raises in time, and its message names the board and has a hint."""
    begun = time.monotonic()
    with pytest.raises(kind, match=f"(?s)^board: .*{said}") as caught:
        yield
    assert caught.value.hint and time.monotonic() - begun < seconds
    assert caught.value.exit_code == 5


def runs(board: Board, word: str) -> bool:
    """Whether a process with this word in its command line is left on the board, a moment later."""
    end = time.monotonic() + 5
    while (found := any(word in command for command in board.processes())) and time.monotonic() < end:
        time.sleep(0.05)
    return found


# nobody there, or somebody else


def test_an_unknown_host_is_refused_with_its_fingerprint(shared_board: Board, tmp_path: Path) -> None:
    with fails(DeviceError, r"is unknown: it shows ssh-ed25519 SHA256:\S{43}.*ssh-keyscan -p"):
        connect(shared_board.device(known_hosts=tmp_path / "none"))


def test_a_changed_host_key_is_refused(board: Board) -> None:
    board.new_host_key()
    with fails(DeviceError, r"has changed.*known_hosts line 1 .*somebody may be in between.*ssh-keygen -R '\[127"):
        connect(board.device())
    board.trust()
    connect(board.device()).close()


def test_a_wrong_key_is_named(shared_board: Board, tmp_path: Path) -> None:
    make_key(tmp_path / "wrong")
    with fails(DeviceError, f"takes none of our keys .tried: {tmp_path}/wrong.*ssh-copy-id"):
        connect(shared_board.device(key=tmp_path / "wrong"))


@pytest.mark.parametrize(
    "content", [None, "", "not a key", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"]
)
def test_a_key_file_that_is_none_is_named(shared_board: Board, tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "odd").write_text(content)
        (tmp_path / "odd").chmod(0o600)
    with fails(DeviceError, f"takes none of our keys.*{tmp_path}/odd: "):
        connect(shared_board.device(key=tmp_path / "odd"))


def test_a_key_that_others_may_read_is_not_used(shared_board: Board, tmp_path: Path) -> None:
    (tmp_path / "open").write_bytes(shared_board.key.read_bytes())
    (tmp_path / "open").chmod(0o644)
    with fails(DeviceError, "others may read it"):
        connect(shared_board.device(key=tmp_path / "open"))


def test_no_password_is_ever_tried(boards: Callable[..., Board]) -> None:
    board = boards(options="PubkeyAuthentication no")  # with passwords off as well, nothing is left
    with fails(DeviceError, "takes no keys|does not let us in"):
        connect(board.device())


def test_a_board_that_is_off_is_said_to_refuse(board: Board) -> None:
    board.stop()
    with fails(BoardLost, "cannot connect to .*refused"):
        connect(board.device())


def test_a_name_that_means_nothing_is_said() -> None:
    with fails(DeviceError, "no machine is called", 30):
        connect(Device("board", "host", "ssh", "no.such.board.invalid", user="me", limits=BRIEF))


def test_a_black_hole_is_given_up(namespace_board: Board) -> None:
    assert namespace_board.namespace is not None
    namespace_board.namespace.cut()
    with fails(BoardLost, "does not answer within|cannot connect"):
        connect(namespace_board.device(limits=BRIEF))


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        (b"", BoardTimeout, "falls silent"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", BoardTimeout, "falls silent"),
        (b"220 mail \x1b[31mready\r\n" * 200, DeviceError, "does not let us in"),
        (os.urandom(5000), DeviceError, "does not let us in|falls silent"),
        (b"SSH-2.0-x\r\n" + bytes([0, 0, 0, 28, 10, 31, 0, 0, 0, 9]) + b"\xff" * 22, DeviceError, "does not let us in|falls silent"),
        (b"SSH-2.0-x\r\n" + bytes([0, 0, 0, 28, 10, 1, 0, 0, 0, 1, 0, 0, 0, 9]) + b"\xff" * 18, DeviceError, "what it sends is not SSH"),
        (b"SSH-2.0-x\r\n" + os.urandom(5000), DeviceError, "does not let us in|falls silent"),
    ],
    ids=["silence", "a greeting and silence", "another protocol", "noise", "an odd packet", "no text", "noise after the greeting"],
)
def test_what_does_not_speak_ssh_is_given_up(words: bytes, kind: type[DeviceError], said: str) -> None:
    with socket.create_server((loopback(), 0)) as server, fails(kind, said) as _:

        def serve() -> None:
            taken, _ = server.accept()
            with taken:
                taken.sendall(words)
                taken.settimeout(15)
                with suppress(OSError):
                    while taken.recv(4096):
                        pass

        threading.Thread(target=serve, daemon=True).start()
        connect(Device("board", "host", "ssh", loopback(), user="me", port=server.getsockname()[1], limits=BRIEF))


def test_a_board_that_opens_no_sessions_is_said(boards: Callable[..., Board]) -> None:
    line = connect(boards(options="MaxSessions 0").device())
    with fails(DeviceError, "opens no session.*MaxSessions"):
        line.execute(["true"])
    line.close()


def test_a_board_that_only_greets_is_said(boards: Callable[..., Board]) -> None:
    line = connect(boards(options="ForceCommand echo no shell here >&2").device())
    for _ in range(12):  # more than MaxSessions: none is left open
        with fails(DeviceError, "session ended before its command"):
            line.execute(["true"])
    line.close()


# the line breaks


def test_a_link_cut_in_mid_upload_ends_the_upload(namespace_board: Board) -> None:
    network = namespace_board.namespace
    assert network is not None
    line = connect(namespace_board.device(limits=BRIEF))
    network.slow("20mbit")

    def cut(sent: int) -> None:
        if sent > 1_000_000:
            network.cut()

    path = str(namespace_board.work / "part")
    with fails(BoardLost, "line to .* was lost: cannot write"):
        line.write(path, DATA, sent=cut, resume=True)
    with fails(BoardLost, "was lost", 5):
        line.execute(["true"])
    line.close()
    network.mend()
    network.slow("1gbit")
    again = connect(namespace_board.device())
    told: list[int] = []
    again.write(path, DATA, sent=told.append, resume=True)
    assert told[0] > 500_000 and Path(path).read_bytes() == DATA
    again.close()


def test_a_link_cut_in_mid_run_ends_the_run_here_and_there(namespace_board: Board) -> None:
    network = namespace_board.namespace
    assert network is not None
    line = connect(namespace_board.device(limits=BRIEF))
    threading.Timer(0.5, network.cut).start()
    with fails(BoardLost, "line to .* was lost"):
        line.execute(["sleep", "321"], seconds=2)
    line.close()
    assert not runs(namespace_board, "sleep 321")
    network.mend()
    connect(namespace_board.device()).close()


def test_an_sshd_killed_in_mid_run_never_looks_like_an_answer(board: Board, line: Connection) -> None:
    threading.Timer(0.5, board.kill_sessions).start()
    with fails(BoardLost, "was lost", 5):
        line.execute(["sh", "-c", "echo early; sleep 4"], seconds=5)
    assert not runs(board, "sleep 4")  # its time was over there, too
    with fails(BoardLost, "was lost", 5):
        line.write(f"{line.device.work}/file", b"")
    connect(board.device()).close()


def test_an_sshd_killed_in_mid_talk_ends_the_talk(board: Board, line: Connection) -> None:
    talk = line.converse(["cat"])
    assert talk.exchange(b"hello", 5) == b"hello"
    board.kill_sessions()
    with fails(BoardLost, "was lost", 10):
        talk.exchange(b"hello", 5)
    talk.close()


def test_an_sftp_that_ended_is_a_lost_line(board: Board, line: Connection) -> None:
    """It ends before the line does; a request may then find its channel closed, or the end of what it says."""
    line.read("/etc/hostname")
    sftp = [pid for pid in board._sessions() if b"internal-sftp" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(sftp[0], signal.SIGKILL)
    time.sleep(0.5)
    for action in (lambda: line.read("/etc/hostname"), lambda: line.write(f"{board.work}/file", b"data")):
        with fails(BoardLost, "line to .* was lost"):
            action()


def test_a_session_that_takes_the_line_with_it_is_a_lost_line(boards: Callable[..., Board]) -> None:
    """Its channel ends first, as where sshd runs no commands or has no SFTP."""
    board = boards(options="ForceCommand kill -9 $PPID")
    for action in (lambda line: line.execute(["true"]), lambda line: line.read("/etc/hostname")):
        with closing(connect(board.device())) as line, fails(BoardLost, "line to .* was lost"):
            action(line)


def test_a_frozen_sshd_is_given_up(board: Board, line: Connection) -> None:
    frozen = board._sessions()
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    try:
        with fails(BoardLost, "was lost"):
            line.execute(["true"], seconds=1)
        with fails(BoardLost, "was lost", 5):
            line.read("/etc/hostname")
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGKILL)


def test_a_frozen_sftp_is_given_up(board: Board, line: Connection) -> None:
    line.write(f"{line.device.work}/file", b"")
    for pid in board._sessions():
        os.kill(pid, signal.SIGSTOP)
    with fails(BoardLost, "cannot write .* not a byte moved in 2 s"):
        line.write(f"{line.device.work}/file", DATA)
    for pid in board._sessions():
        os.kill(pid, signal.SIGKILL)


# the board misbehaves


def test_a_full_disk_is_said(board: Board, walls: None, line: Connection) -> None:
    board.mount(board.work, "size=1m")
    with fails(DeviceError, "cannot write .*file: the disk is full.*change `work`"):
        line.write(f"{board.work}/file", DATA)
    assert line.sizes(str(board.work)) == {}
    with fails(DeviceError, "the disk is full, .*KiB are left"):
        line.write(f"{board.work}/resumed", DATA, resume=True)
    line.remove(str(board.work / "resumed"))
    line.write(f"{board.work}/file", DATA[:500_000])


def test_a_read_only_disk_is_said(board: Board, walls: None, line: Connection) -> None:
    board.mount(board.work, "ro")
    for action in (
        lambda: line.write(f"{board.work}/file", b"data"),
        lambda: line.write(f"{board.work}/file", b"data", resume=True),
        lambda: line.make_folder(f"{board.work}/folder"),
    ):
        with fails(DeviceError, "[Rr]ead-only file system.*change `work`|.*change `work`.*Read-only"):
            action()


def test_an_output_flood_is_stopped_on_both_sides(board: Board) -> None:
    line = connect(board.device(limits=replace(BRIEF, output=100_000)))
    for stream in ("exec yes flood", "exec yes flood >&2"):
        with fails(DeviceError, "answers with more than 100000 bytes"):
            line.execute(["sh", "-c", stream])
        assert not runs(board, "yes flood")
    assert line.execute(["head", "-c", "100000", "/dev/zero"]).output == bytes(100_000)
    line.close()


@pytest.mark.parametrize("missing", [(), ("timeout",), ("timeout", "setsid")], ids=["timeout", "setsid", "neither"])
def test_a_command_that_hangs_is_killed_on_the_board(board: Board, line: Connection, missing: tuple[str, ...]) -> None:
    for name in missing:
        board.program(name, "exit 127")
    with fails(BoardTimeout, "takes longer than 1 s"):
        line.execute(["sleep", "432"], seconds=1)
    assert not runs(board, "sleep 432")
    assert line.execute(["echo", "still here"]).output == b"still here\n"


def test_a_child_that_keeps_the_output_open_holds_nobody_up(board: Board, line: Connection) -> None:
    board.program("timeout", "exit 127")
    board.program("setsid", "exit 127")
    assert line.execute(["sh", "-c", "sleep 30 & echo done"]).output == b"done\n"


def test_an_interrupted_command_is_killed_on_the_board(board: Board, line: Connection) -> None:
    def interrupt() -> None:
        while not any("sleep 543" in command for command in board.processes()):
            time.sleep(0.05)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        line.execute(["sleep", "543"], seconds=600)
    assert not runs(board, "sleep 543")


def test_a_command_killed_by_the_board_is_no_time_out(line: Connection) -> None:
    assert line.execute(["sh", "-c", "kill -9 $$"]).status == 137


def test_connections_leave_no_threads_behind(shared_board: Board) -> None:
    before = threading.active_count()
    for _ in range(3):
        line = SshConnection(shared_board.device())
        line.execute(["true"])
        line.sizes(line.device.work)
        line.close()
        line.close()
    end = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.05)
    assert threading.active_count() <= before


def test_a_host_that_listens_late_knows_that_the_board_s_clock_ended_a_program(
    shared_board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds the program killed, by nobody else."""
    start = SshConnection._session

    def late(line: SshConnection, command: Sequence[str], limit: int) -> Session:
        session = start(line, command, limit)
        time.sleep(limit + 0.3)
        return session

    line = SshConnection(shared_board.device())
    with closing(line):
        line.execute(["true"])
        monkeypatch.setattr(SshConnection, "_session", late)
        with pytest.raises(BoardTimeout, match="takes longer than 1 s"):
            line.execute(["sleep", "60"], seconds=1)
