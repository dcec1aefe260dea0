"""The power goes at every step of a deployment, a roll-back and a lock: one whole version is always in use, and nothing is lost.

Boards write to a disk that remembers (disk.py); every disk that a loss of power may leave of it (cuts.py) is examined, and edgec's next
run has to do its work on it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from edgec.boards.connect.connection import Connection
from edgec.boards.connect.connectors import connect
from edgec.boards.deploy.lock import hold
from edgec.boards.deploy.parcel import Parcel, open_parcel
from edgec.boards.deploy.versions import Pointers, pointers
from edgec.boards.device import Device
from tests.boards.boards import Board
from tests.boards.cuts import State, count_steps, states_after_cuts
from tests.boards.deploying import deploy, roll_back
from tests.boards.disk import remembering_disk
from tests.boards.phones import adb_server, phone
from tests.conftest import require

ALL = bool(os.environ.get("EDGEC_TEST_ALL"))
NEXT_RUNS = 12 if ALL else 6  # at least, on the disks that one recording may leave
_BOOT = Path("/proc/sys/kernel/random/boot_id")
# programs named sync: what the board's own does with paths. Those without any play their part on a disk that does not hear of sync(2).
_SYNCS = {
    "coreutils": 'exec /usr/bin/sync "$@"',
    "busybox": 'exec busybox sync "$@"',
    "everything": "[ $# = 0 ] || exit 1; exec find {disk} -exec /usr/bin/sync {{}} +",
    "ignores paths": "exec find {disk} -exec /usr/bin/sync {{}} +",
}


@dataclass(frozen=True)
class Versions:
    """Three versions: before, the one in use, and a new one."""

    before: Parcel
    old: Parcel
    new: Parcel

    def line(self, name: str) -> bytes | None:
        """What a pointer holds that names a version of ours; "" names none."""
        return f"{getattr(self, name).version}\n".encode() if name else None


@pytest.fixture
def versions(package: Callable[..., Path]) -> Versions:
    parcel = open_parcel(package("host"))
    before, old, new = (replace(parcel, files={**parcel.files, "include/digits.h": text}) for text in (b"before", b"old", b"new"))
    return Versions(before, old, new)


@pytest.fixture
def memory() -> Iterator[Path]:
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture
def needs_fuse() -> None:
    if os.geteuid() != 0 or not Path("/dev/fuse").exists():
        pytest.skip("needs root and /dev/fuse, to give a board a disk")


def update(line: Connection, versions: Versions) -> None:
    deploy(line, versions.new)


def back(line: Connection, versions: Versions) -> None:
    roll_back(line, "digits")


def mend(line: Connection, versions: Versions) -> None:
    """Files of the version in use are not what they were."""
    deploy(line, versions.old)


def locked(line: Connection, versions: Versions) -> None:
    for _ in range(2):
        with hold(line, "a test") as lock:
            lock.renew()


# what is done -> what `current` and `previous` may name when it was cut; before it, they name `old` and `before`
_MAY_BE: dict[Callable[[Connection, Versions], None], tuple[tuple[str, str], ...]] = {
    update: (("old", "before"), ("new", "old")),
    back: (("old", "before"), ("before", "old")),
    mend: (("old", "before"),),
    locked: (("old", "before"),),
}


@contextmanager
def board_on(kind: str, disk: Path, folder: Path, boards: Callable[..., Board]) -> Iterator[Device]:
    """A board whose work folder lies on that disk."""
    with ExitStack() as stack:
        if kind == "local":
            yield Device("board", "host", "local", work=str(disk / "work"))
        elif kind == "adb":
            require("adb")
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            for name, value in stack.enter_context(adb_server(folder)).items():
                patch.setenv(name, value)
            yield stack.enter_context(phone(disk)).device(work="/data/local/tmp/work")
        else:
            if kind == "busybox":
                require("busybox")
            board = boards()
            board.program("sync", _SYNCS[kind].format(disk=disk))
            yield board.device(work=str(disk / "work"))


CASES = [
    ("local", update), ("local", back), ("local", mend), ("local", locked), ("coreutils", update), ("busybox", back),
    ("everything", back), ("ignores paths", locked), ("adb", back),
]  # fmt: skip
if ALL:
    CASES = [(kind, work) for kind in ("local", *_SYNCS, "adb") for work in _MAY_BE]


@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "work"), CASES, ids=lambda value: value if isinstance(value, str) else value.__name__)
def test_whatever_a_cut_leaves_one_whole_version_is_in_use_and_nothing_is_lost(
    needs_fuse: None,
    memory: Path,
    versions: Versions,
    boards: Callable[..., Board],
    kind: str,
    work: Callable[[Connection, Versions], None],
    record_property: Callable[[str, object], None],
) -> None:
    with remembering_disk(memory) as (disk, log), board_on(kind, disk, memory, boards) as device:
        line = connect(device)
        deploy(line, versions.before)
        done = deploy(line, versions.old)
        if work is mend:
            line.write(f"{done.folder}/include/digits.h", b"odl")
            line.remove(f"{done.folder}/manifest.json")
        line.make_folder(f"{device.work}/../begins")
        work(line, versions)
        line.close()
        states = list(states_after_cuts(log, "begins"))
        steps = count_steps(log, "begins")
    for state in states:
        examine_state(state, versions, _MAY_BE[work], spoiled=work is mend)
    chosen = states[:: max(1, len(states) // NEXT_RUNS)]
    for number, state in enumerate(chosen):
        goes_on(state, memory / f"next{number}", versions)
    record_property("steps", steps)
    record_property("disks", len(states))
    record_property("next_runs", len(chosen))
    print(f"\n{kind} {work.__name__}: {steps} steps, {len(states)} disks examined, {len(chosen)} next runs, 0 lost")
    assert steps > 8 and len(states) > 8


@pytest.mark.sampled
def test_whatever_a_cut_leaves_of_a_first_deployment_it_can_be_done_again(needs_fuse: None, memory: Path, versions: Versions) -> None:
    with remembering_disk(memory) as (disk, log):
        line = connect(Device("board", "host", "local", work=str(disk / "work")))
        (disk / "begins").mkdir()
        deploy(line, versions.old)
        states = list(states_after_cuts(log, "begins"))
    for state in states:
        examine_state(state, versions, (("", ""), ("old", "")))
    for number, state in enumerate(states[:: max(1, len(states) // NEXT_RUNS)]):
        goes_on(state, memory / f"next{number}", versions)


def examine_state(state: State, versions: Versions, may_be: tuple[tuple[str, str], ...], *, spoiled: bool = False) -> None:
    """What applications on the board would see, before edgec comes back. spoiled: the version in use was not whole before the cut."""
    current, previous = (state.read(f"work/digits/{pointer}") for pointer in ("current", "previous"))
    assert current in [versions.line(one) for one, _ in may_be], "no version is in use, or another than can be"
    for name, parcel in vars(versions).items():
        folder = f"work/digits/versions/{parcel.version}"
        parts = {path: state.read(f"{folder}/{path}") for path in parcel.files}
        is_needed = versions.line(name) in (current, previous) or all(name in pair for pair in may_be)
        if not (spoiled and name == "old"):
            assert parts == dict(parcel.files) or not (is_needed or any(parts.values())), f"the version {name} is torn"


def goes_on(state: State, folder: Path, versions: Versions) -> None:
    """The board was started anew, and edgec comes back to it: the next deployment works, and so does the way back."""
    folder.mkdir()
    state.write_out(folder)
    (folder / "work").mkdir(exist_ok=True)
    boot = _BOOT.read_bytes().strip()
    for file in (folder / "work").glob("lock/*/*"):
        if file.is_file():
            file.write_bytes(file.read_bytes().replace(boot, b"the boot before"))
    line = connect(Device("board", "host", "local", work=str(folder / "work")))
    before = pointers(line, "digits")
    other = replace(versions.new, files={**versions.new.files, "include/digits.h": b"next"})
    done = deploy(line, other)
    assert pointers(line, "digits") == Pointers(other.version, before.current)
    assert (Path(done.folder) / "include/digits.h").read_bytes() == b"next"
    if before.current:
        parcel = next(parcel for parcel in vars(versions).values() if parcel.version == before.current)
        if whole(folder / "work/digits/versions" / before.current, parcel):
            assert roll_back(line, "digits") == before.current
            assert roll_back(line, "digits") == other.version


def whole(folder: Path, parcel: Parcel) -> bool:
    return all((folder / path).is_file() and (folder / path).read_bytes() == data for path, data in parcel.files.items())
