"""How the text of a setting, or its value in edgec.toml and in Python, becomes what the build sees; ValueError says how to write it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from edgec.base.errors import did_you_mean
from edgec.base.part import LONGEST, Constant, States
from edgec.package.single_values import MOST

if TYPE_CHECKING:
    import numpy as np

GPU = ("auto", "on", "off")
HIGHEST_SQNR = 100.0  # dB that can be asked for: float32 itself does not do better
Shapes = Mapping[str, Sequence[int]]
Operators: TypeAlias = "Path | Callable[..., Any]"  # a file, or an operator itself
OperatorSources: TypeAlias = "str | Path | Callable[..., Any] | Sequence[str | Path | Callable[..., Any]]"
Calibration: TypeAlias = "str | Callable[[], Iterable[Any]] | Mapping[str, np.ndarray] | np.ndarray"


def shapes_value(text: object) -> Shapes:
    """`input=1,3,224,224`, several separated by `;` or as a list; in edgec.toml a table of lists."""
    if isinstance(text, Mapping):
        return {str(name): tuple(int(extent) for extent in extents) for name, extents in text.items()}
    items = text if isinstance(text, (list, tuple)) else str(text).split(";")
    found: dict[str, tuple[int, ...]] = {}
    for item in items:
        name, _, extents = str(item).rpartition("=")
        if not name or not re.fullmatch(r"\s*\d+\s*(,\s*\d+\s*)*", extents):
            raise ValueError("write it as NAME=1,3,224,224")
        found[name] = tuple(int(extent) for extent in extents.split(","))
    return found


def shape_sets_value(text: object) -> tuple[Shapes, ...]:
    """Sets of shapes, each as `shapes_value` has one: a list of them, or one."""
    items = text if isinstance(text, (list, tuple)) else [text]
    return tuple(shapes_value(item) for item in items)


def cuts_value(text: object) -> Mapping[str, Sequence[int] | None]:
    """`features=1,64,7,7`, or `features` alone: the file says its shape."""
    if isinstance(text, Mapping):
        return {str(name): None if extents is None else tuple(int(extent) for extent in extents) for name, extents in text.items()}
    items = text if isinstance(text, (list, tuple)) else str(text).split(";")
    shaped = [item for item in items if re.search(r"=[\s\d,]+$", str(item))]
    return {**{str(item): None for item in items if item not in shaped}, **(shapes_value(shaped) if shaped else {})}


def tensors_value(text: object) -> tuple[str, ...]:
    """Names of tensors, which may hold anything: a list of them, or one."""
    items = text if isinstance(text, (list, tuple)) else str(text).split(";")
    if not all(isinstance(name, str) and name for name in items):
        raise ValueError("write the names of tensors")
    return tuple(items)


def constants_value(value: object) -> Mapping[str, Constant]:
    """`sr=16000`, `axes=0,2`, `flag=true`; in edgec.toml and in Python a table of numbers and lists."""
    if not isinstance(value, Mapping):
        items = value if isinstance(value, (list, tuple)) else str(value).split(";")
        pairs = [str(item).rpartition("=") for item in items]
        if not all(name and numbers for name, _, numbers in pairs):
            raise ValueError("write it as NAME=16000, or NAME=1,2,3")
        value = {name: [number_value(word) for word in numbers.split(",")] for name, _, numbers in pairs}
    return {str(name): constant_value(numbers) for name, numbers in value.items()}


def states_value(value: object) -> States:
    """`h:h_next`, `h:h_next=0.5`; in edgec.toml and in Python a table of names, or of names with a number.

    Names may have colons, both as many.
    """
    if not isinstance(value, Mapping):
        items = value if isinstance(value, (list, tuple)) else str(value).split(";")
        pairs = [state_value(str(item)) for item in items]
        value = dict(pairs)
        if len(value) < len(pairs):
            raise ValueError("name each input once")
    return {str(name): kept_value((item, 0) if isinstance(item, str) else item) for name, item in value.items()}


def state_value(text: str) -> tuple[str, tuple[str, float]]:
    found = re.fullmatch(r"(?s)(.+?)(?:=([+-]?[\d.]+(?:[eE][+-]?\d+)?))?", text)
    names, number = (found[1].split(":"), found[2]) if found else ([], None)
    half = len(names) // 2
    if not half or len(names) % 2 or not all(names):
        raise ValueError("write it as INPUT:OUTPUT, or INPUT:OUTPUT=0.5")
    return ":".join(names[:half]), (":".join(names[half:]), float(number or 0))


def kept_value(pair: object) -> tuple[str, float]:
    if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not isinstance(pair[0], str) or not pair[0]:
        raise ValueError('write the name of an output, or ["NAME", 0.5]')
    start = float(pair[1])
    if not math.isfinite(start):
        raise ValueError("a state starts with a finite number")
    return pair[0], start


def number_value(word: str) -> bool | int | float:
    known = {"true": True, "false": False}
    word = word.strip().lower()
    return known[word] if word in known else int(word) if re.fullmatch(r"[+-]?\d{1,20}", word) else float(word)


def constant_value(value: Any) -> Constant:
    import numpy as np  # which help and completion do without

    numbers = np.asarray(value)
    if numbers.dtype.kind not in "biuf" or not 1 <= numbers.size <= LONGEST or not np.isfinite(numbers).all():
        raise ValueError(f"write a number, true or false, or a list of at most {LONGEST}")
    found = tuple(numbers.reshape(-1).tolist())
    return found[0] if len(found) == 1 else found


def names_value(text: object) -> tuple[str, ...]:
    """Node names: a list, each possibly several separated by commas."""
    items = text if isinstance(text, (list, tuple)) else [text]
    return tuple(name for item in items for name in str(item).split(",") if name)


def decibels_value(value: object) -> float:
    number = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?:dB)?\s*", str(value))
    if isinstance(value, bool) or not number or float(number[1]) > HIGHEST_SQNR:
        raise ValueError("write decibels, such as 25")
    return float(number[1])


def share_value(value: object) -> float:
    """With its sign: 0.5 alone could be either."""
    number = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*%\s*", str(value))
    if not number or float(number[1]) >= 100:
        raise ValueError("write a percentage below 100 with its sign, such as 0.5%")
    return float(number[1]) / 100


def fraction_value(value: object) -> float:
    """0.5 or 50%."""
    number = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(%?)\s*", str(value))
    found = float(number[1]) / (100 if number[2] else 1) if number and not isinstance(value, bool) else 0.0
    if not 0 < found < 1:
        raise ValueError("write the share of multiply-accumulates to remove, between 0 and 1, such as 0.5")
    return found


def path_value(value: object) -> Path:
    if "\0" in str(value) or not isinstance(value, (str, Path)):
        raise ValueError("write a path")
    return Path(value)


def results_value(value: object) -> Path:
    if not str(value).endswith(".jsonl"):
        raise ValueError("write the results.jsonl of a bench")
    return path_value(value)


def operators_value(value: object) -> tuple[Operators, ...]:
    """Python files, one or a list; in Python also operators themselves."""
    items = value if isinstance(value, (list, tuple)) else value.split(";") if isinstance(value, str) else [value]
    return tuple(item if callable(item) else path_value(item) for item in items)


def placement_value(value: object) -> str | Path:
    """A word of GPU, or a results file."""
    if value in GPU or isinstance(value, bool):  # TOML's own words for on and off
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
    if not str(value).endswith(".jsonl"):
        raise ValueError(f"write {', '.join(GPU)}, or the results.jsonl of a bench")
    return results_value(value)


def names_function(value: object) -> bool:
    """Whether calibration data is FILE.py:FUNCTION, which is run."""
    return isinstance(value, str) and ".py:" in value


def source_value(value: object) -> Calibration:
    if isinstance(value, (str, Path)):
        return str(path_value(value))
    import numpy as np

    return value if callable(value) or isinstance(value, (Mapping, np.ndarray)) else str(path_value(value))


def identifier_value(text: object) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", str(text)):
        raise ValueError("write a C identifier: letters, digits and _, a letter first")
    return str(text)


def flag_value(text: object) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if str(text).lower() not in words:
        raise ValueError("write true or false")
    return words[str(text).lower()]


@dataclass(frozen=True)
class OneOf:
    """Takes one of these words."""

    choices: tuple[str, ...]

    def __call__(self, text: object) -> str:
        if text not in self.choices:
            raise ValueError(did_you_mean(str(text), self.choices))
        return str(text)


def one_of_value(*choices: str) -> OneOf:
    return OneOf(choices)


def count_value(text: object) -> int:
    if not re.fullmatch(r"0*[1-9][0-9]*", str(text)):
        raise ValueError("write a positive whole number")
    return int(str(text))


def bits_value(text: object) -> int:
    if str(text) not in ("4", "8"):
        raise ValueError("write 4 or 8")
    return int(str(text))


def version_value(text: object) -> int:
    number = count_value(text)
    if number > MOST:
        raise ValueError(f"write a number of at most {MOST}")
    return number


def seed_value(text: object) -> int:
    if not re.fullmatch(r"[0-9]+", str(text)):
        raise ValueError("write a whole number, 0 or more")
    return int(str(text))


def table_value(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("write it as a table of keys and values")
    return value
