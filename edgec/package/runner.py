"""Calling a package from numpy: its tensors, and a process of its exam program that answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any
from weakref import finalize

import numpy as np

from edgec.base.errors import Problem, UsageError, did_you_mean
from edgec.package.interface import Face
from edgec.package.parts import Options, Port
from edgec.package.running import Session

NOTHING = b"\n"  # what stands for a set of no inputs where an exam program reads sets


@dataclass(frozen=True)
class Tensor:
    """An input or output of the package as callers see it; `face` leads from the model's tensors to it and back.

    shape_of: the output whose shape this one tells. shapes: of a package that takes several sets of shapes, its shape in each; `shape` is
    that of the first.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    face: Face
    shape_of: str = ""
    shapes: tuple[tuple[int, ...], ...] = ()

    @property
    def bytes(self) -> int:
        return int(np.prod(self.shape)) * self.dtype.itemsize


class Runner:
    """Calls a package: arrays in (by position, by name or as one dict), a list of output arrays out, which have these `names`.

    start: starts the package, for a set of shapes by its number from 1 on, where it takes several; 0 elsewhere. whole: all that it gives,
    else the model's outputs, each in the shape that it has in that run. stream: whether the model keeps something of a run, which is there
    in the next, until `reset`; a stream stays with one set here, each of which has a process.
    """

    def __init__(
        self, inputs: list[Tensor], outputs: list[Tensor], start: Callable[[int], Session], whole: bool = False, stream: bool = False
    ) -> None:
        self._sets, self._start = sets_of(inputs, outputs), start
        self._inputs, self._sessions = inputs, {min(self._sets): start(min(self._sets))}
        self._told = {} if whole else {tensor.shape_of: tensor.name for tensor in outputs if tensor.shape_of}
        self.names = [tensor.name for tensor in outputs if whole or not tensor.shape_of]
        self._end = finalize(self, _close, self._sessions)
        self._stream, self._began = stream, 0  # in which set

    def __call__(self, *arrays: np.ndarray | Mapping[str, np.ndarray], **named: np.ndarray) -> list[np.ndarray]:
        """One run. UsageError lists every array that is missing, unknown, or of another type or shape."""
        given = self._named(arrays, named)
        number = number_of(self._sets, given)
        if self._stream and self._began not in (0, number):
            hint = "reset() begins another one; where it goes from set to set, take a wheel, or the package's own interface"
            raise UsageError(f"this stream began in set {self._began} of shapes, and these are of set {number}", hint=hint)
        inputs, outputs = self._sets[number]
        data = b"".join(array.tobytes() for array in fitting(inputs, given)) or NOTHING
        if number not in self._sessions:
            self._sessions[number] = self._start(number)
        self._began = number
        answer = self._sessions[number].exchange(data, sum(output.bytes for output in outputs))
        results, start = {}, 0
        for output in outputs:
            block = np.frombuffer(answer, output.dtype, int(np.prod(output.shape)), start)
            results[output.name] = block.reshape(output.shape).copy()
            start += output.bytes
        for name, shape in self._told.items():
            extents = [int(extent) for extent in results[shape]]
            results[name] = results[name].reshape(-1)[: math.prod(extents)].reshape(extents)
        return [results[name] for name in self.names]

    def _named(self, arrays: Sequence[np.ndarray | Mapping[str, np.ndarray]], named: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        given: dict[str, np.ndarray] = {}
        if len(arrays) == 1 and isinstance(arrays[0], Mapping):
            given.update(arrays[0])
        elif len(arrays) > len(self._inputs):
            raise UsageError(f"{len(arrays)} arrays given, the package has {len(self._inputs)} input(s)")
        else:
            given.update((tensor.name, np.asarray(array)) for tensor, array in zip(self._inputs, arrays, strict=False))
        return {**given, **named}

    def reset(self) -> None:
        """Begin anew, as if nothing had been run."""
        numbers = list(self._sessions)
        self._end()
        self._sessions = {number: self._start(number) for number in numbers}
        self._end = finalize(self, _close, self._sessions)
        self._began = 0

    def close(self) -> None:
        self._end()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _close(sessions: Mapping[int, Session]) -> None:
    for session in sessions.values():
        session.close()


Sets = Mapping[int, tuple[list[Tensor], list[Tensor]]]


def sets_of(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Sets:
    """By number the inputs and outputs of each set of shapes; of a package with one set under 0."""
    count = max((len(tensor.shapes) for tensor in (*inputs, *outputs)), default=0)
    if not count:
        return {0: (list(inputs), list(outputs))}
    sides = [[[replace(tensor, shape=tensor.shapes[place]) for tensor in side] for side in (inputs, outputs)] for place in range(count)]
    return {number: (ins, outs) for number, (ins, outs) in enumerate(sides, 1)}


def number_of(sets: Sets, given: Mapping[str, np.ndarray]) -> int:
    """The set whose inputs have the shapes of these arrays; the first one where none has. UsageError lists the sets that there are."""
    shapes = {name: np.shape(array) for name, array in given.items()}
    for number, (inputs, _) in sets.items():
        if all(shapes.get(tensor.name, tensor.shape) == tensor.shape for tensor in inputs):
            return number
    if len(sets) == 1:
        return min(sets)
    known = [", ".join(f"{tensor.name} {list(tensor.shape)}" for tensor in inputs) for inputs, _ in sets.values()]
    problems = [Problem(words, f"set {number} of shapes") for number, words in enumerate(known, 1)]
    found = ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())
    raise UsageError(f"the package takes no such shapes: {found}", problems)


def fitting(tensors: Sequence[Tensor], given: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The arrays in the order of `tensors`; UsageError when their names, types or shapes are not those of the package."""
    names = [tensor.name for tensor in tensors]
    problems = [Problem("missing", f"input {name}", did_you_mean(name, given) if given else "") for name in names if name not in given]
    problems += [Problem("not an input of this package", name, did_you_mean(name, names)) for name in given if name not in names]
    arrays = {name: np.asarray(given[name]) for name in names if name in given}
    for tensor in tensors:
        array = arrays.get(tensor.name)
        if array is not None and (array.shape != tensor.shape or array.dtype != tensor.dtype):
            what = f"is {array.dtype}{list(array.shape)}, must be {tensor.dtype}{list(tensor.shape)}"
            problems.append(Problem(what, f"input {tensor.name}"))
    if problems:
        raise UsageError("the inputs do not fit the package", problems)
    return [np.asarray(arrays[name], order="C") for name in names]


def tensors_of(ports: Sequence[Port], options: Options) -> list[Tensor]:
    """How callers see a package's inputs or outputs."""
    found = []
    for port in ports:
        kind = np.dtype(port.dtype)
        face = Face(port.name, kind, port.scale, port.zero_point or 0, options.io_layout == "nhwc")
        shapes = tuple(map(tuple, port.shapes or ()))
        found.append(Tensor(port.name, kind, shapes[0] if shapes else tuple(port.shape), face, port.shape_of or "", shapes))
    return found
