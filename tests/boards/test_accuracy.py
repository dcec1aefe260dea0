"""Accuracy on a board: samples are streamed there, and the float model answers each of them once."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import edgec
from edgec.base.errors import UsageError
from edgec.boards.board.measure import Options
from edgec.boards.connect.connectors import connect, program_words
from edgec.boards.deploy.parcel import open_parcel
from edgec.boards.device import Device, Limits
from edgec.boards.farm.gates import Gates
from edgec.boards.farm.job import Task, run_task
from edgec.exam.judging import AnswerSheet, BoardJudge, Evaluation, paper_of, write_sheet
from edgec.package import Package
from edgec.pipeline.evaluation import open_evaluation
from edgec.records.results import Accuracy, Job
from tests.boards.boards import Board
from tests.boards.deploying import deploy, scripted_where

DIGITS = Path(__file__).parents[2] / "examples/digits"
MODEL, DATA = DIGITS / "digits.onnx", DIGITS / "evaluation.npz"
QUICK = Options(seconds=0.02, runs=4, rounds=2, accept_noise=True)


def opened(directory: Path, samples: int = 40) -> Evaluation:
    return open_evaluation(MODEL, Package(directory), DATA, "labels", samples)


def judge_of(directory: Path, samples: int = 40) -> BoardJudge:
    package, evaluation = Package(directory), opened(directory, samples)
    return BoardJudge({open_parcel(directory).facts.sha256: paper_of(package, evaluation, write_sheet(evaluation, package))})


def judged(directory: Path, device: Device, judge: BoardJudge) -> Accuracy:
    (job,) = [
        record for record in run_task(Task(device, (open_parcel(directory),), QUICK, Gates(), judge, "a test")) if isinstance(record, Job)
    ]
    assert job.status == "passed" and job.accuracy is not None
    return job.accuracy


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_a_board_scores_what_compare_finds_here(tmp_path: Path, package: Callable[..., Path], precision: str) -> None:
    directory = package(precision=precision)
    found = judged(directory, Device("here", "host", "local", work=str(tmp_path)), judge_of(directory))
    expected = edgec.compare(MODEL, directory, str(DATA), labels="labels", samples=40)
    assert (found.samples, found.agreement) == (40, expected.outputs[0].agreement)
    assert (found.top1, found.reference_top1) == (expected.accuracy["package"][0], expected.accuracy["fp32"][0])
    assert found.sqnr_db == pytest.approx(expected.outputs[0].sqnr_db)
    assert found.agreement is not None and found.agreement > 0.9


def test_answers_come_from_the_board_over_its_line(board: Board, package: Callable[..., Path]) -> None:
    found = judged(package(), board.device(), judge_of(package(), 12))
    assert found.samples == 12 and found.agreement == 1.0


def test_a_judge_travels_to_another_host_with_its_answers(tmp_path: Path, package: Callable[..., Path]) -> None:
    judge = judge_of(package(), 8)
    sent = pickle.dumps(judge)
    (paper,) = judge.papers.values()
    paper.sheet._path.unlink()
    arrived: BoardJudge = pickle.loads(sent)
    assert judged(package(), Device("here", "host", "local", work=str(tmp_path)), arrived).samples == 8


def test_wrong_answers_lower_the_agreement(tmp_path: Path, package: Callable[..., Path]) -> None:
    """Answers to the samples in reverse are right for few of them."""
    judge = judge_of(package())
    ((sha256, paper),) = judge.papers.items()
    answers = [answer for _, answer in paper.sheet]

    class Reversed:
        def __iter__(self):  # type: ignore[no-untyped-def]
            return ((sample, answer) for (sample, _), answer in zip(paper.sheet, reversed(answers), strict=True))

    wrong = BoardJudge({sha256: replace(paper, sheet=Reversed())})  # type: ignore[arg-type]
    found = judged(package(), Device("here", "host", "local", work=str(tmp_path)), wrong)
    assert found.agreement is not None and found.agreement < 0.5
    assert found.top1 is not None and found.top1 > 0.8, "labels do not depend on the reference"


def test_reference_answers_are_computed_once_for_all_boards(tmp_path: Path, package: Callable[..., Path]) -> None:
    evaluation, asked = opened(package(), 5), []

    def counted(sample: dict[str, np.ndarray]) -> list[np.ndarray]:
        asked.append(1)
        return evaluation.reference(sample)

    sheet = write_sheet(replace(evaluation, reference=counted), Package(package()))
    judge = BoardJudge({open_parcel(package()).facts.sha256: paper_of(Package(package()), evaluation, sheet)})
    for name in ("one", "two"):
        judged(package(), Device(name, "host", "local", work=str(tmp_path / name)), judge)
    assert len(asked) == 5


def test_samples_are_read_one_at_a_time(tmp_path: Path, package: Callable[..., Path]) -> None:
    """A sheet holds no arrays, and its file goes with it."""
    sheet: AnswerSheet = write_sheet(opened(package(), 6), Package(package()))
    path = sheet._path
    assert path.stat().st_size == 6 * 4 * (64 + 10)
    first = next(iter(sheet))
    assert first[0]["image"].shape == (1, 1, 8, 8) and first[1][0].shape == (1, 10)
    del sheet
    assert not path.exists()


def test_a_package_that_dies_while_it_is_judged_fails_with_its_figures(tmp_path: Path, package: Callable[..., Path]) -> None:
    directory, parcel = package(), open_parcel(package())
    dying = scripted_where(parcel, "--run", "head -c 100 > /dev/null; echo out of luck >&2; exit 3", tmp_path)
    device = Device("here", "host", "local", work=str(tmp_path / "work"))
    _, job = run_task(Task(device, (dying,), QUICK, Gates(min_agreement=0.5), judge_of(directory, 4), "a test"))
    assert isinstance(job, Job) and job.status == "failed" and job.latencies and job.accuracy is None
    assert "here" in job.reason and "out of luck" in job.reason


def test_a_package_that_hangs_while_it_is_judged_fails(tmp_path: Path, package: Callable[..., Path]) -> None:
    """For good, on a board that answers; the limit is long enough for what does not hang, however busy the machine is."""
    directory, parcel = package(), open_parcel(package())
    hangs = scripted_where(parcel, "--run", "exec sleep 4321", tmp_path)
    device = Device("here", "host", "local", work=str(tmp_path / "work"), limits=Limits(run=10.0))
    _, job = run_task(Task(device, (hangs,), QUICK, Gates(min_agreement=0.5), judge_of(directory, 4), "a test"))
    assert isinstance(job, Job) and job.status == "failed" and job.latencies, job.reason
    assert "here" in job.reason and "hangs" in job.reason


def test_the_exam_program_answers_sets_one_after_the_other(tmp_path: Path, package: Callable[..., Path]) -> None:
    """What the judge relies on: the same input gives the same answer, whatever came between."""
    device = Device("here", "host", "local", work=str(tmp_path))
    line, parcel = connect(device), open_parcel(package())
    talk = line.converse(program_words(device, deploy(line, parcel).program, "--run"))
    zeros, ones = bytes(parcel.inputs_bytes), b"\0\0\x80\x3f" * (parcel.inputs_bytes // 4)
    answers = [talk.exchange(data, parcel.outputs_bytes) for data in (zeros, ones, zeros)]
    assert answers[0] == answers[2] != answers[1]
    talk.close()
    line.close()


def test_data_that_cannot_judge_is_refused_before_any_board_is_asked(tmp_path: Path, package: Callable[..., Path]) -> None:
    with np.load(DATA) as data:
        images, labels = data["image"][:6], data["labels"][:4]
    np.savez(tmp_path / "short.npz", image=images, labels=labels)
    evaluation = open_evaluation(MODEL, Package(package()), tmp_path / "short.npz", "labels")
    with pytest.raises(UsageError, match="4 labels for 6 samples"):
        write_sheet(evaluation, Package(package()))
    with pytest.raises(UsageError, match="no samples"):
        write_sheet(replace(evaluation, samples=lambda: iter(())), Package(package()))
    with pytest.raises(UsageError, match="do not fit"):
        wide = [{"image": np.zeros((1, 1, 9, 9), np.float32)}]
        write_sheet(replace(evaluation, samples=lambda: iter(wide), reference=lambda sample: [np.zeros((1, 10))]), Package(package()))
