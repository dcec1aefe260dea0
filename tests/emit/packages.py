"""Writing a hand-made package to a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from edgec.emit import ExamData, emit_exam
from edgec.program.program import Program
from edgec.targets import Target, load_target
from tests.contract.examiner import WHOLE
from tests.emit.drafts import drafted

EVERY = load_target("host")
# Without EDGEC_TEST_ALL packages have two vocabularies to choose from, which says as much as all: those that compile fastest. gcc takes
# longer to read the header of AVX than to compile a small package.
HOST = EVERY if WHOLE else replace(EVERY, vocabularies=("portable", EVERY.vocabularies[0]))


def write_package(folder: Path, program: Program, target: Target, data: ExamData, weights: str = "incbin") -> Path:
    draft = drafted(program, target, weights).plus(emit_exam(program, target, data))
    for path, content in draft.complete().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder
