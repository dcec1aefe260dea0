"""Runs cases through the whole compiler: import, optimize, lower, plan, emit, compile, run, compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from edgec.base.errors import EdgecError
from edgec.frontend import from_proto
from edgec.lower import lower
from edgec.lower.plan import plan
from edgec.passes import optimize
from edgec.program.program import Program
from edgec.schedule import schedule
from edgec.targets import Target
from tests.operators.batch import Answer, Batch, DoesNotCompile, Kernels, build, build_kernels, port_bytes
from tests.operators.case import Case, Outcome, difference
from tests.operators.coverage import computes

BATCH = 100  # which are compiled together; a compiler takes a megabyte for each
# operators whose operands say how large the result is: exported models hold all of them as constants
MAKERS = {"ConstantOfShape", "Range", "Loop", "BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix"}
OK, REFUSED, WRONG = "ok", "refused", "wrong"


@dataclass(frozen=True, eq=False)
class Compiled:
    """A case and its Program; shipped: of the model as it is."""

    case: Case
    program: Program
    shipped: bool = True

    def inputs(self) -> list[np.ndarray]:
        return [np.asarray(self.case.inputs[port.name]) for port in self.program.inputs]

    def misfit(self) -> str:
        """An input of the package whose type or size is not that of the case's."""
        missing = [port.name for port in self.program.inputs if port.name not in self.case.inputs]
        if missing:
            return f"the case has no tensors of numbers for {missing}, but the model was accepted"
        for port, array in zip(self.program.inputs, self.inputs(), strict=True):
            if (array.dtype, array.nbytes) != (port.dtype.numpy, port_bytes(port)):
                wanted = f"{port_bytes(port)} bytes of {port.dtype.value}"
                return f"input {port.name} is {array.dtype}{list(array.shape)}, the package takes {wanted}"
        return ""


def run_cases(cases: Sequence[Case], target: Target, folder: Path, isas: Sequence[str] = ("",), level: str = "-O0",
              flags: Sequence[str] = ()) -> list[Outcome]:  # fmt: skip
    """What became of every case on the target; `wrong` when any of the sets of instructions gives a wrong result."""
    outcomes, compiled = [], []
    for case in cases:
        found = compile_case(case, target)
        if isinstance(found, Outcome):
            outcomes.append(found)
        else:
            compiled.append(found)
    return outcomes + run_programs(compiled, target, folder, isas, level, flags)


def run_programs(compiled: Sequence[Compiled], target: Target, folder: Path, isas: Sequence[str] = ("",), level: str = "-O0",
                 flags: Sequence[str] = (), threads: Sequence[int] = (1,)) -> list[Outcome]:  # fmt: skip
    """The same of Programs; several cases may share one. The answers are the same ones on all these numbers of threads."""
    outcomes: list[Outcome] = []
    kernels = build_kernels(_programs(compiled), target, folder, level, flags)
    for start in range(0, len(compiled), BATCH):
        place = folder / f"batch{start // BATCH}"
        place.mkdir()
        outcomes += _run_block(list(compiled[start : start + BATCH]), kernels, place, isas, threads)
    return outcomes


def _programs(compiled: Sequence[Compiled]) -> list[Program]:
    """Each one once."""
    return list({id(item.program): item.program for item in compiled}.values())


def _run_block(block: list[Compiled], kernels: Kernels, folder: Path, isas: Sequence[str], threads: Sequence[int]) -> list[Outcome]:
    """The outcomes of one batch; a package that does not compile is built no second time with the others."""
    programs = _programs(block)
    numbers = {id(program): number for number, program in enumerate(programs)}
    try:
        batch = build(programs, kernels, folder)
    except DoesNotCompile as error:
        if not error.guilty:
            raise
        guilty = [item for item in block if numbers[id(item.program)] in error.guilty]
        rest = [item for item in block if item not in guilty]
        bad = [Outcome(item.case.name, item.case.operator, WRONG, f"does not compile: {error}") for item in guilty]
        return bad + (_run_block(rest, kernels, folder, isas, threads) if rest else [])
    return _run(block, [numbers[id(item.program)] for item in block], batch, isas, threads)


def compile_case(case: Case, target: Target) -> Compiled | Outcome:
    """The case's Program, or why there is none: a refusal is an EdgecError that says where; all else is wrong."""
    outcome = Outcome(case.name, case.operator, WRONG, "no form of the model was tried")
    for number, fixed in enumerate(forms(case)):
        try:
            found = Compiled(case, to_program(fixed, target), number == 0)
        except EdgecError as error:
            outcome = Outcome(case.name, case.operator, REFUSED, str(error))
            continue
        except Exception as error:  # whatever it is, it must be reported as the compiler's fault
            return Outcome(case.name, case.operator, WRONG, f"{type(error).__name__}: {error}")
        misfit = found.misfit()
        if not misfit:
            return found
        outcome = Outcome(case.name, case.operator, WRONG, misfit)
    return outcome


def to_program(model: onnx.ModelProto, target: Target) -> Program:
    graph = from_proto(model).graph
    optimize(graph)
    program = schedule(lower(graph, target, "case"), target)
    plan(program)
    return program


def forms(case: Case) -> list[onnx.ModelProto]:
    """The model as it is; of a fixable case, then with integer operands known when it is compiled; then with all but the first."""
    if not case.fixable:
        return [case.model]
    names = list(case.inputs)
    kinds = {name: np.asarray(array).dtype for name, array in case.inputs.items()}
    integers = [name for name in names[1:] if kinds[name] in (np.int64, np.int32)]
    iterations = [name for name in names if kinds[name] in (np.int64, np.bool_)]  # of a loop; what it carries stays an input
    operators = {node.op_type for node in case.model.graph.node}
    choices = [[], integers, *([iterations] if "Loop" in operators else []), names[1:], *([names] if MAKERS & operators else [])]
    different = list(dict.fromkeys(map(tuple, choices)))
    return [with_constants(case.model, {name: case.inputs[name] for name in choice}) for choice in different]


def with_constants(model: onnx.ModelProto, values: dict[str, np.ndarray]) -> onnx.ModelProto:
    """The model with some of its inputs turned into initializers."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    kept = [value for value in result.graph.input if value.name not in values]
    del result.graph.input[:]
    result.graph.input.extend(kept)
    result.graph.initializer.extend(numpy_helper.from_array(np.asarray(array), name) for name, array in values.items())
    return result


def _run(block: Sequence[Compiled], places: Sequence[int], batch: Batch, isas: Sequence[str], threads: Sequence[int]) -> list[Outcome]:
    """places: the number of each case's Program in the batch."""
    problems: list[list[str]] = [[] for _ in block]
    for isa in isas:
        questions = [(place, item.inputs()) for place, item in zip(places, block, strict=True)]
        answers = batch.ask(questions, isa, threads[0])
        for number, (item, answer) in enumerate(zip(block, answers, strict=True)):
            problem = problem_of(item.case, answer)
            if problem:
                problems[number].append(f"{isa or 'default'}: {problem}")
        for count in threads[1:]:
            for number, (one, other) in enumerate(zip(answers, batch.ask(questions, isa, count), strict=True)):
                if not is_same(one, other):
                    problems[number].append(f"{isa or 'default'}: another answer on {count} threads: {other.message}")
    return [_outcome(item, "; ".join(found)) for item, found in zip(block, problems, strict=True)]


def _outcome(item: Compiled, message: str) -> Outcome:
    return Outcome(item.case.name, item.case.operator, WRONG if message else OK, message, item.shipped, computes(item.program))


def is_same(one: Answer, other: Answer) -> bool:
    """Bit for bit."""
    return one.status == other.status and all(a.tobytes() == b.tobytes() for a, b in zip(one.outputs, other.outputs, strict=True))


def problem_of(case: Case, answer: Answer) -> str:
    """What is wrong with an answer; empty when it is right."""
    if answer.status != 0:
        return f"status {answer.status} {answer.message}"
    return difference(case, answer.outputs)
