"""Mutants of small models through the whole compiler: each becomes a package, or an error that says what and where; nothing else.

No exit 70, no traceback, no error of a wrong family, nothing half-written, nothing over the budget of time and memory.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

import edgec
from edgec.base.budget import Budget
from edgec.base.errors import EdgecError, ModelError, UsageError
from edgec.cli.main import main
from tests.fuzz.frame import Outcome, Trial, Wrong, key_of
from tests.fuzz.mutate import damage, damage_bytes
from tests.fuzz.seeds import all_seeds, few_seeds

Generator = np.random.Generator
MODEL = "model.onnx"
BYTES, PROGRAM, PROCESS = 0.1, 0.06, 0.004  # how often: raw bytes are damaged too; the verbs run; a process of its own builds and examines
INSPECTED = 0.2  # how often edgec.inspect runs beside edgec.build
FEW = 0.4  # how often the seed is one of the few that have many operators
LARGEST_SAMPLE = 1 << 20  # elements of an input that calibration data is made for
# errors that are no fault of the model
CONFESSIONS = {"bug of edgec": "ill-formed graph", "one of both is wrong": "another type", "it took longer than": "slow"}
SMALL = Budget(seconds=20, tensors=32 << 20, operations=1 << 32)  # what a mutant may take, as its seed is small
FAMILIES = (0, UsageError.exit_code, ModelError.exit_code)


def make(seeds: Callable[[], tuple[onnx.ModelProto, ...]] = all_seeds) -> Trial:
    few, known = few_seeds(), seeds()

    def trial(g: Generator, folder: Path) -> Outcome:
        chosen = few if g.random() < FEW else known
        seed = chosen[int(g.integers(len(chosen)))]
        numbers = g.integers(1 << 62, size=int(g.choice([1, 1, 1, 2, 2, 3, 5]))).tolist()
        byte_seed = int(g.integers(1 << 62)) if g.random() < BYTES else None
        luck = float(g.random())
        try:
            return _attempt(seed, numbers, byte_seed, luck, folder)
        except Exception as error:
            _minimize(seed, numbers, byte_seed, luck, folder, key_of(error))
            raise

    return trial


def _minimize(seed: onnx.ModelProto, numbers: list[int], byte_seed: int | None, luck: float, folder: Path, key: str) -> None:
    """Leave in `folder` the mutant of as few mutations as show the find."""
    kept = list(numbers)
    for number in numbers:
        fewer = [item for item in kept if item != number]
        if _key(seed, fewer, byte_seed, luck, folder) == key:
            kept = fewer
    _key(seed, kept, byte_seed, luck, folder)


def _key(seed: onnx.ModelProto, numbers: list[int], byte_seed: int | None, luck: float, folder: Path) -> str:
    try:
        _attempt(seed, numbers, byte_seed, luck, folder)
    except Exception as error:
        return key_of(error)
    return ""


def _attempt(seed: onnx.ModelProto, numbers: list[int], byte_seed: int | None, luck: float, folder: Path) -> Outcome:
    model, names = damage(seed, numbers)
    content = model.SerializeToString()
    if byte_seed is not None:
        content = damage_bytes(content, np.random.default_rng(byte_seed))
    for path in folder.iterdir():
        _remove(path)
    (folder / MODEL).write_bytes(content)
    (folder / "weights.bin").write_bytes(bytes(range(256)))
    (folder / "mutations.txt").write_text("\n".join(names))
    found = onnx.ModelProto()
    with contextlib.suppress(Exception):
        found.ParseFromString(content)
    (folder / "model.txt").write_text(_text(found))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # NumPy's, which a user would read
        return _tried(folder, found, luck)


def _tried(folder: Path, found: onnx.ModelProto, luck: float) -> Outcome:
    if luck < PROCESS:
        return _process(folder, found)
    if luck < PROCESS + PROGRAM:
        return _program(folder, found)
    return _functions(folder, found, luck)


def _remove(path: Path) -> None:
    if path.is_dir():
        for item in path.iterdir():
            _remove(item)
        path.rmdir()
    else:
        path.unlink()


def _text(model: onnx.ModelProto) -> str:
    try:
        return str(onnx.printer.to_text(model))[:20000]
    except Exception as error:  # names that are no text, types that do not exist
        return str(error)


# The three ways in


def _functions(folder: Path, model: onnx.ModelProto, luck: float) -> Outcome:
    """edgec.build in float, in int8 what that takes, sources only; sometimes edgec.inspect. What one reading says is not asked again."""
    if luck > 1 - INSPECTED:
        with _checked(folder):
            edgec.inspect(folder / MODEL, budget=SMALL)
    ended = {}
    for precision, calib in (("fp32", None), ("int8", _samples(_ports(model)))):
        with _checked(folder) as errors:
            edgec.build(
                folder / MODEL, target="portable", precision=precision, calib=calib, out=folder / precision, compile=False,
                budget=SMALL,
            )  # fmt: skip
        ended[precision] = "refused" if errors else "built"
        if errors:
            break
    operators = frozenset(node.op_type for node in model.graph.node) if ended["fp32"] == "built" else frozenset()
    return Outcome({" ".join(f"{precision} {end}" for precision, end in ended.items()): 1}, operators)


@contextlib.contextmanager
def _checked(folder: Path) -> Iterator[list[str]]:
    """An EdgecError of the right family that names a place; nothing new in the folder."""
    before, errors = _names(folder), list[str]()
    try:
        yield errors
    except EdgecError as error:
        errors.append(type(error).__name__)
        _check_error(error)
        if _names(folder) != before:
            raise Wrong("left behind", f"{sorted(_names(folder) - before)} after {error}") from error


def _check_error(error: EdgecError) -> None:
    text = str(error)
    if error.exit_code not in FAMILIES:
        raise Wrong(f"family {error.exit_code}: {key_of(error)}", text) from error
    for words, key in CONFESSIONS.items():
        if words in text:
            raise Wrong(f"{key}: {key_of(error)}", text) from error
    if not error.where and not (error.problems and all(item.where for item in error.problems)):
        raise Wrong(f"no place: {key_of(error)}", text) from error


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _program(folder: Path, model: onnx.ModelProto) -> Outcome:
    """The verbs, in this process."""
    np.savez(folder / "data.npz", **_stacked(_ports(model)))
    codes = []
    for words in (
        ("inspect", MODEL, "--json"),
        ("quantize", MODEL, "--calib", "data.npz", "-o", "int8.onnx", "--json"),
        ("build", MODEL, "--calib", "data.npz", "-o", "package", "--target", "portable", "--no-compile", "--json", "--dump", "stages"),
    ):
        before = _names(folder)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
        _check_ended(words, code, out.getvalue(), err.getvalue())
        left = _names(folder) - before - {"stages"}
        if code and left:
            raise Wrong("left behind", f"{sorted(left)} after {' '.join(words)}")
        codes.append(code)
    return Outcome({"built by the program" if codes[-1] == 0 else "refused by the program": 1})


def _process(folder: Path, model: onnx.ModelProto) -> Outcome:
    """`edgec build` as people call it, with the compiler and the exam."""
    np.savez(folder / "data.npz", **_stacked(_ports(model)))
    words = ["build", MODEL, "--calib", "data.npz", "-o", "package", "--target", "portable", "--cc", "gcc -O0", "--json"]
    done = subprocess.run([sys.executable, "-m", "edgec.cli.main", *words], cwd=folder, capture_output=True, text=True, check=False)
    _check_ended(tuple(words), done.returncode, done.stdout, done.stderr)
    if done.returncode and "package" in _names(folder):
        raise Wrong("left behind", "a package after a failed build")
    if done.returncode:
        return Outcome({"refused by a process": 1})
    return Outcome({"built and examined by a process": 1}, frozenset(node.op_type for node in model.graph.node))


def _check_ended(words: tuple[str, ...], code: int, out: str, err: str) -> None:
    if code not in FAMILIES or "Traceback" in err:
        first = next((line for line in err.splitlines() if line.startswith("error:")), "")
        raise Wrong(f"exit code {code} of {words[0]}: {first[:80]}", err[-2000:])
    try:
        facts = json.loads(out)
    except ValueError as error:
        raise Wrong(f"no JSON from {words[0]}", out[-500:]) from error
    if facts.get("schema_version") != 1:
        raise Wrong(f"no schema from {words[0]}", out[-500:])


# Calibration data


def _ports(model: onnx.ModelProto) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
    """Inputs that arrays can be made for: type and shape, open dimensions as 1."""
    found = {}
    constants = {item.name for item in model.graph.initializer}
    for value in model.graph.input:
        shape = tuple(max(dim.dim_value, 1) for dim in value.type.tensor_type.shape.dim)
        with contextlib.suppress(KeyError, TypeError):
            dtype = np.dtype(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
            if value.name not in constants and dtype.kind in "fiub" and len(shape) < 30 and np.prod(shape, dtype=float) < LARGEST_SAMPLE:
                found[value.name] = dtype, shape
    return found


def _array(dtype: np.dtype[Any], shape: tuple[int, ...], seed: int) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(np.random.default_rng(seed).standard_normal(shape) * 3).astype(dtype)


def _samples(inputs: dict[str, tuple[np.dtype[Any], tuple[int, ...]]]) -> Callable[[], list[dict[str, np.ndarray]]]:
    return lambda: [{name: _array(*kind, seed) for name, kind in inputs.items()} for seed in range(2)]


def _stacked(inputs: dict[str, tuple[np.dtype[Any], tuple[int, ...]]]) -> dict[str, np.ndarray]:
    """Two samples along the first axis, as files hold them; strange names cannot be keys of such a file."""
    usable = {name: kind for name, kind in inputs.items() if kind[1] and str(name).isidentifier()}
    return {name: _array(dtype, (2 * shape[0], *shape[1:]), 0) for name, (dtype, shape) in usable.items()}
