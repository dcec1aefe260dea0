"""Which variants are tried, which win, and what is left of them where the whole package does not gain: by numbers of our own."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from edgec.base.errors import DeviceError, EdgecError, GateError
from edgec.boards.farm import contest
from edgec.records.results import Job, LayerTime
from edgec.records.tuning import Compared, TunedBoard, TunedLayer, Tuning, read_tuning
from edgec.schedule.ways import Ways
from edgec.verbs import tune
from edgec.verbs.contenders import compared, decided, stronger_half, tries, winners
from edgec.verbs.lab import Clock
from edgec.verbs.tune import Tuned
from tests.reports.samples import job, latency, package

LAYERS = (Ways("a", (0, 2), "panels", ("tall", "winograd")), Ways("b", (1,), "strips", ("rows",)))
NOTHING = TunedBoard("a processor", "avx2", ("sse41", "avx2"), "gcc", "0")


def times(*calls: tuple[float, ...]) -> list[LayerTime]:
    return [LayerTime(number, of_call[0], of_call) for number, of_call in enumerate(calls)]


def known(**tried: tuple[float, float, float]) -> Any:
    return {name: Compared(10 * ratio, 10, ratio, low, high) for name, (ratio, low, high) in tried.items()}


def test_every_layer_takes_its_next_variant_in_each_try() -> None:
    assert tries(LAYERS, NOTHING) == [{"a": "tall", "b": "rows"}, {"a": "winograd"}]
    board = replace(NOTHING, layers={"a": TunedLayer("panels", known(tall=(1, 1, 1))), "b": TunedLayer("rows", known(rows=(1, 1, 1)))})
    assert tries(LAYERS, board) == [{"a": "winograd", "b": "rows"}], (
        "what was compared with another variant than today's counts for nothing"
    )
    assert tries((), NOTHING) == []


def test_calls_of_one_layer_are_compared_together() -> None:
    base, other = times((10, 12), (5, 5), (10, 8)), times((5, 6), (6, 5), (6, 4))
    board = compared(LAYERS, NOTHING, {"a": "tall", "b": "rows"}, base, other)
    found = board.layers["a"].tried["tall"]
    assert (found.us, found.base_us) == (10.5, 20) and found.low < found.ratio < found.high and 0.5 < found.ratio < 0.55
    assert board.layers["b"].base == "strips" and board.layers["a"].variant is None and NOTHING.layers == {}
    more = compared(LAYERS, board, {"a": "winograd"}, base, other)
    assert set(more.layers["a"].tried) == {"tall", "winograd"} and more.layers["b"] == board.layers["b"]


def test_what_a_clock_cannot_tell_stays_untried() -> None:
    board = compared(LAYERS, NOTHING, {"a": "tall", "b": "rows"}, times((1, 1), (0, 5), (1, 1)), times((1, 1), (5, 5), (1, 1)))
    assert set(board.layers) == {"a"}


def test_only_what_is_surely_faster_wins_and_the_fastest_of_it() -> None:
    layers = {
        "a": TunedLayer("panels", known(tall=(0.8, 0.7, 0.9), winograd=(0.7, 0.6, 0.99), merged=(0.1, 0.1, 0.1))),
        "b": TunedLayer("strips", known(rows=(0.5, 0.2, 1.0))),
    }
    board = replace(NOTHING, layers=layers)
    assert winners(LAYERS, board) == {"a": "winograd"}, "merged is no way to compute this layer today"
    other = replace(board, layers={"a": replace(layers["a"], base="tall"), "b": layers["b"]})
    assert winners(LAYERS, other) == {}
    chosen = decided(LAYERS, replace(board, layers={**layers, "c": TunedLayer("x", {}, "y")}), {"a": "winograd"})
    assert chosen.choices == {"a": "winograd", "c": "y"} and decided(LAYERS, chosen, {}).choices == {"c": "y"}


def test_the_half_that_saves_most_is_left() -> None:
    board = replace(NOTHING, layers={
        "a": TunedLayer("panels", known(tall=(0.9, 0.8, 0.95))), "b": TunedLayer("strips", known(rows=(0.5, 0.2, 0.9))),
    })  # fmt: skip
    assert stronger_half(LAYERS, board, {"a": "tall", "b": "rows"}) == {"b": "rows"}
    assert stronger_half(LAYERS, board, {"b": "rows"}) == {}


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"status": "failed", "reason": "local: the exam failed"}, GateError),
        ({"status": "unreachable", "reason": "local: gone"}, DeviceError),
        ({"status": "unsteady", "noise": "the board throttled"}, DeviceError),
        ({"profile_noise": "the board throttled"}, DeviceError),
    ],
    ids=str,
)
def test_what_does_not_count_ends_the_contest(changes: dict[str, Any], error: type[EdgecError]) -> None:
    found = replace(job(package()), **changes)
    with pytest.raises(error):
        contest._check(found, accept_noise=False)
    noisy = "noise" in changes or "profile_noise" in changes
    with nullcontext() if noisy else pytest.raises(error):
        contest._check(found, accept_noise=True)
    contest._check(job(package()), accept_noise=False)


@dataclass
class Stub:
    """A lab in which a package of so many changed layers takes such times on one and on two threads; wrong: its answers are."""

    ratios: dict[int, tuple[float, float]]
    wrong: int = 0
    said: list[str] = field(default_factory=list)

    def say(self, words: str) -> None:
        self.said.append(words)

    def built(self, name: str, choices: dict[str, str]) -> int:
        return len(choices)

    def raced(self, base: int, changed: int, *, layers: bool) -> list[Job]:
        if changed == self.wrong:
            raise GateError("local: the exam failed")
        medians = [100.0, 101.0, 99.0]
        ways = [
            [replace(latency(), threads=threads, medians_us=tuple(ratio * us for us in medians)) for threads, ratio in enumerate(ratios, 1)]
            for ratios in ((1.0, 1.0), self.ratios[changed])
        ]
        return [job(package(), latencies=tuple(own)) for own in ways]


def judged(lab: Stub, folder: Path, most: float = 100.0) -> tuple[Tuned, Tuning]:
    layers = {"a": TunedLayer("panels", known(tall=(0.9, 0.8, 0.95)), "tall"), "b": TunedLayer("strips", known(rows=(0.5, 0.2, 0.9)))}
    board, found = replace(NOTHING, layers=layers), Tuned(folder / "tuned.json", "local", "host", "int8", "avx2", 3, 1, 0)
    found = tune._judged(lab, LAYERS, board, 0, ("one", "two", "three"), found, Clock(most))  # type: ignore[arg-type]
    return found, read_tuning(found.record)[0]


def test_winners_are_kept_where_the_whole_package_is_no_slower(tmp_path: Path) -> None:
    found, record = judged(Stub({2: (0.8, 1.0)}), tmp_path)
    assert found.kept and record.boards[-1].choices == {"a": "tall", "b": "rows"}
    assert [(one.name, one.calls, one.variant) for one in found.faster] == [("one", 2, "tall"), ("two", 1, "rows")]
    assert [(gain.threads, round(gain.ratio, 9)) for gain in found.gains] == [(1, 0.8), (2, 1.0)]


def test_what_is_slower_in_the_fastest_way_is_not_kept_for_want_of_certainty() -> None:
    found = tune._no_loss([tune.Gain(1, 108, 100, 1.08, 0.9, 1.3), tune.Gain(2, 150, 300, 0.5, 0.4, 0.6)])
    assert not found and tune._no_loss([tune.Gain(1, 100, 100, 1.0, 0.9, 1.1), tune.Gain(2, 310, 300, 1.03, 0.9, 1.2)])


def test_half_of_them_where_it_is_slower_on_any_number_of_threads(tmp_path: Path) -> None:
    found, record = judged(Stub({2: (0.8, 1.1), 1: (0.9, 0.9)}), tmp_path)
    assert found.kept and record.boards[-1].choices == {"b": "rows"} and [one.name for one in found.faster] == ["two"]


@pytest.mark.parametrize(
    ("lab", "notes"), [(Stub({2: (1.1, 1), 1: (1.2, 1)}), 0), (Stub({2: (1.1, 1)}, wrong=1), 1)], ids=["slower", "wrong"]
)
def test_nothing_where_it_never_gains_and_what_was_chosen_before_is_undone(lab: Stub, notes: int, tmp_path: Path) -> None:
    found, record = judged(lab, tmp_path)
    assert not found.kept and record.boards[-1].choices == {} and len(found.notes) == notes
    assert record.boards[-1].layers["a"].tried, "what was compared is kept"


def test_no_time_is_taken_that_is_not_there(tmp_path: Path) -> None:
    lab = Stub({2: (1.1, 1.1)})
    found, record = judged(lab, tmp_path, most=0.0)
    assert len(lab.said) == 1 and not found.kept and record.boards[-1].choices == {}
