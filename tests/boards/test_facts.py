"""Facts: transcripts of boards that are not here, any text at all, and the boards that are."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from inspect import getmembers, isfunction, signature
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgec.base.errors import DeviceError
from edgec.boards.board import parsers, probes
from edgec.boards.board.board import Facts, archs_of, facts_of, facts_of_python
from edgec.boards.board.fitness import FEATURES, instructions, misfits, propose_target, remarks, unfit
from edgec.boards.board.look import describe, gather, read_state, state_of, with_clock
from edgec.boards.connect.connectors import connect
from edgec.boards.device import Device
from edgec.emit.vocabularies import VOCABULARIES
from edgec.records.results import Job, from_line, to_line
from edgec.targets import load_target, target_names
from tests.boards.boards import Board

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.json"))
LOCAL = Device("local", "host", "local")
SSH = Device("kitchen", "rpi4", "ssh", "kitchen")


def transcript(name: str) -> tuple[dict[str, str], dict[str, str], dict[str, Any]]:
    """What a board answered, part by part, and what it is."""
    told = json.loads((Path(__file__).parent / "transcripts" / f"{name}.json").read_text(encoding="utf-8"))
    joined = [{part: "\n".join(lines) for part, lines in told[kind].items()} for kind in ("facts", "state")]
    return joined[0], joined[1], told["expected"]


def facts(name: str) -> Facts:
    return facts_of(transcript(name)[0])


@pytest.mark.parametrize("name", [path.stem for path in TRANSCRIPTS])
def test_a_board_is_understood(name: str) -> None:
    said, state, expected = transcript(name)
    assert set(said) == set(probes.FACTS) and set(state) == set(probes.STATE), "a transcript has every part that is asked for"
    found = with_clock(facts_of(said), state, now=1717405000.0)
    known = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(found).items()}
    checked = {key: value for key, value in expected.items() if key in known}
    assert {key: known[key] for key in checked} == checked and len(checked) == len(known) - len(("features", "clock_offset_s"))
    assert propose_target(found) == expected["target"] and instructions(found) == expected["instructions"]
    now = asdict(state_of(state)[0])
    assert {**now, "throttled": list(now["throttled"])} == expected["state"]


def test_the_clock_is_compared_with_ours() -> None:
    _, state, _ = transcript("pi5")
    assert with_clock(Facts(), state, now=1717405000.5).clock_offset_s == 12.0
    assert with_clock(Facts(), {"clock": "date: not found"}, now=5.0).clock_offset_s is None


def test_a_description_says_what_a_board_tells() -> None:
    assert describe(facts("pi3-32bit")) == {
        "model": "Raspberry Pi 3 Model B Plus Rev 1.3",
        "processor": "Cortex-A53",
        "cores": "4",
        "frequency": "1.40 GHz",
        "instructions": "neon32",
        "memory": "0.9 GiB",
        "machine": "aarch64 with 32-bit programs",
        "system": "Raspbian GNU/Linux 11 (bullseye)",
        "kernel": "Linux 6.1.21-v8+",
        "libc": "glibc 2.31",
    }
    assert describe(Facts()) == {}


def test_what_a_vocabulary_needs_is_what_the_kernels_are_compiled_for() -> None:
    assert {name: tuple(sorted(words)) for name, words in FEATURES.items()} == {
        name: tuple(sorted(vocabulary.features)) for name, vocabulary in VOCABULARIES.items()
    }


# -- who can run what --


def why_not(name: str, target: str, device: Device = SSH) -> str:
    """Why a package of a target cannot run on a board; "" when it can."""
    package = load_target(target)
    return "; ".join(map(str, unfit(facts(name), device, package.arch, package.os, package.vocabularies)))


@pytest.mark.parametrize("name", [path.stem for path in TRANSCRIPTS])
def test_the_proposed_target_fits_and_so_does_portable(name: str) -> None:
    assert why_not(name, transcript(name)[2]["target"]) == "" == why_not(name, "portable")


@pytest.mark.parametrize(
    ("name", "target", "words"),
    [
        ("pi5", "rpi4", ""),
        ("pi4-throttled", "rpi5", ""),
        ("pi5", "x86-64", "kitchen: the package is for x86_64 and the board runs aarch64    hint: build for it: --target rpi5"),
        ("pi5", "rpi-32bit", "kitchen: the package is for armv7 and the board runs aarch64"),
        ("pi3-32bit", "rpi3", "for aarch64 and the board runs armv7 (32-bit programs)    hint: build for it: --target rpi-32bit"),
        ("pi-zero", "rpi-32bit", "the package is for armv7 and the board runs armv6    hint: build for it: --target portable"),
        ("pi5", "android-arm64", "the package is for android and the board runs linux"),
        ("android-phone", "linux-arm64", "for linux and the board runs android    hint: build for it: --target android-arm64"),
        ("android-phone", "android-armv7", ""),
        ("mac", "linux-arm64", "the package is for linux and the board runs macos"),
        ("riscv64-board", "rpi4", "the package is for aarch64 and the board runs riscv64"),
    ],
)  # fmt: skip
def test_a_package_for_another_board_is_refused_with_the_reason(name: str, target: str, words: str) -> None:
    said = why_not(name, target)
    assert words in said and bool(words) == bool(said)


def test_a_processor_without_the_first_vocabulary_is_refused() -> None:
    old = replace(facts("x86-laptop"), features=frozenset({"sse2", "ssse3"}))
    (problem,) = unfit(old, SSH, "x86_64", "any", ["sse41", "avx2"])
    assert problem.what == "the package needs sse4_1 (sse41), which the board's processor does not have"
    assert propose_target(old) == "portable"
    assert unfit(facts("x86-laptop"), SSH, "x86_64", "any", ["sse41", "avx512vnni"]) == [], "later vocabularies are chosen there, or not"
    assert "avx512f and" in unfit(facts("x86-laptop"), SSH, "x86_64", "any", ["avx512vnni"])[0].what
    assert "asimddp" in unfit(facts("pi4-throttled"), SSH, "aarch64", "linux", ["dotprod"])[0].what


def test_the_neon_of_a_32_bit_program_goes_by_either_name() -> None:
    there = replace(facts("pi3-32bit"), features=frozenset({"fp", "asimd"}))
    assert unfit(there, SSH, "armv7", "linux", ["neon32"]) == [] and propose_target(there) == "rpi-32bit"


def test_an_emulator_decides_for_itself() -> None:
    assert why_not("x86-laptop", "rpi5", replace(SSH, prefix=("qemu-aarch64",))) == ""
    assert why_not("x86-laptop", "rpi5", Device("e", "rpi5", "emulated")) == ""
    assert remarks(facts("x86-laptop"), Device("e", "rpi5", "emulated"), "rpi5") == []
    assert misfits(facts("x86-laptop"), Device("e", "rpi5", "emulated")) == []


def test_a_board_that_tells_nothing_is_given_a_try() -> None:
    for target in target_names():
        package = load_target(target)
        assert unfit(Facts(), SSH, package.arch, package.os, package.vocabularies) == []
    assert propose_target(Facts()) == "portable"


def test_what_a_package_leaves_unused_is_remarked() -> None:
    (said,) = remarks(facts("pi5"), SSH, "rpi4")
    assert str(said) == "kitchen: packages for rpi4 leave dotprod of its processor unused    hint: build for rpi5"
    (said,) = remarks(facts("pi4-throttled"), SSH, "rpi5")
    assert str(said) == "kitchen: this is a Raspberry Pi 4 Model B Rev 1.4, not a board for rpi5    hint: build for rpi4"
    assert remarks(facts("pi5"), SSH, "rpi5") == remarks(facts("pi5"), SSH, "linux-arm64") == []


def test_an_entry_is_held_against_its_board() -> None:
    (said,) = misfits(facts("pi3-32bit"), SSH)
    assert str(said) == "kitchen: target rpi4 is for aarch64 and the board runs armv7 (32-bit programs)    hint: target: rpi-32bit"
    (said,) = misfits(facts("pi4-throttled"), replace(SSH, cores=(3, 4, 5)))
    assert str(said) == "kitchen: cores 4, 5 are not there: the board has 4    hint: cores: at most 3"


@pytest.mark.parametrize(
    ("model", "target"),
    [
        ("Raspberry Pi Compute Module 5 Rev 1.0", "rpi5"),
        ("Raspberry Pi 500 Rev 1.0", "rpi5"),
        ("Raspberry Pi 400 Rev 1.0", "rpi4"),
        ("Raspberry Pi Compute Module 4S Rev 1.0", "rpi4"),
        ("Raspberry Pi Compute Module 3 Plus Rev 1.0", "rpi3"),
        ("Raspberry Pi 3 Model A Plus Rev 1.0", "rpi3"),
        ("Raspberry Pi Zero 2 W Rev 1.0", "rpi-zero2"),
        ("Raspberry Pi 50", "linux-arm64"),
        ("Radxa ROCK 5B", "linux-arm64"),
    ],
)
def test_a_raspberry_is_known_by_its_device_tree(model: str, target: str) -> None:
    assert propose_target(replace(facts("pi5"), model=model)) == target


@pytest.mark.parametrize(
    ("machine", "bits", "abis", "archs"),
    [
        ("aarch64", 64, "", ("aarch64",)),
        ("armv8l", 32, "", ("armv7",)),
        ("AMD64", 0, "", ("x86_64",)),
        ("x86_64", 32, "", ("x86",)),
        ("aarch64", 64, "armeabi-v7a,armeabi", ("armv7",)),
        ("mips", 32, "", ()),
    ],
)
def test_the_programs_of_a_board_count_not_its_kernel(machine: str, bits: int, abis: str, archs: tuple[str, ...]) -> None:
    assert archs_of(machine, bits, abis) == archs


# -- slowing down --


def test_throttling_that_came_and_went_between_two_looks_is_told() -> None:
    _, parts, _ = transcript("pi4-throttled")
    once = {**parts, "throttled": "throttled=0x10000"}
    state, look = state_of(once)
    assert state.throttled == (), "what happened before the first look is the past"
    state, look = state_of({**parts, "throttled": "throttled=0x50000"}, last=look)
    assert state.throttled == ("throttled",)
    state, look = state_of({**parts, "throttled": "throttled=0x50000"}, last=look)
    assert state.throttled == ()
    state, _ = state_of({**parts, "throttled": "throttled=0xa000a"}, last=look)
    assert state.throttled == ("frequency capped", "soft temperature limit")


def test_a_processor_that_counts_its_throttling_is_believed() -> None:
    _, parts, _ = transcript("x86-laptop")
    _, look = state_of(parts)
    more = {**parts, "throttle_counts": parts["throttle_counts"].replace("core_throttle_count:3", "core_throttle_count:4", 1)}
    assert state_of(parts, last=look)[0].throttled == () and state_of(more, last=look)[0].throttled == ("throttled",)


def test_a_pinned_measurement_looks_at_its_own_cores() -> None:
    _, parts, _ = transcript("android-phone")
    state, _ = state_of(parts, cores=(4, 5))
    assert (state.frequency_khz, state.most_frequency_khz) == (400000, 2253000)


# -- odd answers --

READERS = [
    function
    for _, function in getmembers(parsers, isfunction)
    if function.__module__ == parsers.__name__ and not function.__name__.startswith("_")
]
TEXTS = st.text(max_size=200) | st.binary(max_size=200).map(lambda data: data.decode("utf-8", errors="replace"))
PIECES = [line for path in TRANSCRIPTS for kind in transcript(path.stem)[:2] for text in kind.values() for line in text.split("\n")]
MIXED = st.lists(st.sampled_from(PIECES) | TEXTS, max_size=12).map("\n".join)


@settings(max_examples=100, deadline=None)
@given(MIXED)
def test_a_reader_never_fails(text: str) -> None:
    for reader in READERS:
        if str(next(iter(signature(reader).parameters.values())).annotation) == "str":
            found = reader(text)
            assert not isinstance(found, str) or (found.isprintable() and len(found) <= 120)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from([*probes.FACTS, *probes.STATE]), MIXED, max_size=20))
def test_facts_of_any_answer_are_harmless_and_can_be_kept(parts: dict[str, str]) -> None:
    found = with_clock(facts_of(parts), parts, now=0.0)
    state, _ = state_of(parts)
    assert all(word.isprintable() for word in describe(found).values())
    job = Job("b", found.system, "", "passed", "", "", 0.0, board=describe(found), before=state, after=state)
    assert from_line(to_line(job)) == job, "it fits into a results file"
    assert propose_target(found) in target_names()
    assert json.dumps(asdict(replace(found, features=frozenset())), allow_nan=False, default=list)


def test_a_long_answer_does_not_take_long() -> None:
    for text in (
        "a" * 10**6,
        "\n" * 10**6,
        "x: " * 10**5,
        "GLIBC " * 10**5,
        "9" * 10**6,
        "[ro.a]: [" * 10**5,
        "throttled=0x" + " " * 10**6,
    ):
        started = time.process_time()
        facts_of(dict.fromkeys(probes.FACTS, text))
        state_of(dict.fromkeys(probes.STATE, text))
        assert time.process_time() - started < 20


def test_escape_codes_of_a_board_are_taken_out() -> None:
    found = facts_of({"model": "\x1b]0;owned\x07\x1b[2JPi\x00\nmore", "uname": "Linux\n6\x1b[31m.1\naarch64"})
    assert found.model == "Pi" and found.kernel == "Linux 6.1"


def test_only_the_first_part_of_a_name_counts() -> None:
    assert probes.split_parts("noise\nM a\r\n1\n\nM b\n\nM a\n2\nM end\n", "M") == {"a": "1", "b": "", "end": ""}


@pytest.mark.parametrize(
    ("said", "load"),
    [
        ("8.51 8.20 8.02 1/2047 9000", 0.0),  # Android, where waiting counts: none runs but the one that asks
        ("3.00 2.00 1.00 2/100 9", 1.0),
        ("0.20 2.00 1.00 5/100 9", 0.2),
        ("{ 1.52 1.80 1.91 }", 1.52),
        ("3.00", 3.0),
        ("many", None),
    ],
)
def test_a_load_is_of_what_runs_now_and_did_before(said: str, load: float | None) -> None:
    assert state_of({"load": said})[0].load == load


# -- boards that are here --


def test_this_machine_tells_what_python_knows(tmp_path: Path) -> None:
    connection = connect(replace(LOCAL, work=str(tmp_path / "not/there/yet")))
    found, state = gather(connection), read_state(connection)
    connection.close()
    ours = facts_of_python()
    assert (found.machine, found.os, found.archs, found.cores > 0) == (ours.machine, ours.os, ours.archs, ours.cores > 0)
    assert found.memory_bytes > 2**20 and found.disk_free_bytes and found.writable and found.kernel == ours.kernel
    assert found.clock_offset_s is not None and abs(found.clock_offset_s) < 5
    assert state.load is not None
    package = load_target("host")
    assert unfit(found, LOCAL, package.arch, package.os, package.vocabularies) == []


@pytest.mark.skipif(platform.system() != "Linux", reason="reads /proc")
def test_a_machine_without_a_shell_is_described_by_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = connect(LOCAL)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gather(connection) == facts_of_python()
    assert read_state(connection).governor == ""
    connection.close()


def test_a_board_behind_ssh_tells_the_same_as_this_machine(shared_board: Board) -> None:
    there, here = connect(shared_board.device(prefix=("env",))), connect(LOCAL)
    ours, theirs = gather(here), gather(there)
    there.close()
    here.close()
    assert (theirs.processor, theirs.features, theirs.cores, theirs.system) == (ours.processor, ours.features, ours.cores, ours.system)


def test_a_raspberry_behind_ssh_tells_that_it_slows_down(board: Board) -> None:
    board.program("vcgencmd", 'case $1 in measure_temp) echo "temp=81.2\'C" ;; *) echo throttled=0x50005 ;; esac')
    connection = connect(board.device())
    assert read_state(connection).throttled == ("under-voltage", "throttled")
    board.program("vcgencmd", "echo throttled=0x70000")
    assert read_state(connection).throttled == ("frequency capped",), "it came and went since the last look"
    assert read_state(connection).throttled == ()
    connection.close()


def test_a_board_whose_programs_hang_or_lie_is_read_all_the_same(board: Board) -> None:
    board.program("vulkaninfo", "sleep 1000")
    board.program("vcgencmd", "printf '\\033[2J'; head -c 100000 /dev/urandom")
    board.program("nproc", "echo 4294967296999999999999999999")
    connection = connect(board.device())
    found, state = gather(connection), read_state(connection)
    connection.close()
    assert found.gpu == "" and found.cores > 0 and found.machine == platform.machine() and state.throttled == ()


def test_a_board_without_a_shell_is_told_apart(boards: Callable[..., Board]) -> None:
    board = boards(options="ForceCommand echo only this")
    with pytest.raises(DeviceError, match=r"kitchen") as caught:
        connection = connect(board.device("kitchen"))
        gather(connection)
    assert caught.value.hint


def test_behind_an_emulator_the_entry_tells_what_runs() -> None:
    emulated = Device("pi", "rpi4", "ssh", address="pi.lan", prefix=("qemu-aarch64",))
    assert unfit(facts("x86-laptop"), emulated, "aarch64", "linux", ["neon"]) == []
    (problem,) = unfit(facts("x86-laptop"), emulated, "armv7", "linux", ["neon32"])
    assert "armv7" in problem.what and "aarch64" in problem.what and problem.hint == "build for it: --target rpi4"
