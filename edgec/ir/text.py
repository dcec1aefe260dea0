"""The `.eir` text form of a Graph: one line per input, constant, node and output, types on every value.

    graph example
    input %x: float32[1,3,8,8]
    const %w: float32[4,3,1,1] = normal(seed=3)
    const %axes: int64[2] = [2, 3]
    %y: float32[1,4,8,8] = Conv(%x, %w) {dilations=[1,1], group=1} "conv1"
    output %y

Behind a loop stands its body, indented, from `body example` to `end`.

What the caller holds in another type ends in `held float16`, an input that is an output of the run before in `from %y`, or in
`from %y after 0.5` where it does not start with zeros.

A constant is a literal, `fill(v)`, `arange()`, `normal(seed=n)` or `normal(seed=n, scale=s)`; these come back exactly for n < 64. A large
array that is none of them is `elided(h)` with h from its SHA-256: equal arrays have equal text, and reading gives Gaussian values in their
place. Names outside of [A-Za-z0-9_./:-] are quoted. A symbolic extent is `N<=4`.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import numpy as np

from edgec.base.errors import UsageError
from edgec.ir.graph import Graph, Node, State
from edgec.ir.loop import loop_of
from edgec.ir.types import Dim, DType, Symbol, TensorType

BODY = "body"  # the attribute that a loop's graph is
INLINE = 32  # elements; longer arrays are written as a pattern
_PLAIN = re.compile(r"[A-Za-z0-9_./:\-]+")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
# Patterns of a line whose strings are in hexadecimal (see `_hidden`): they hold nothing that could be taken for syntax.
_NAME = r'%(?:"[0-9a-f]*"|[A-Za-z0-9_./:\-]+)|\b_\b'
_TYPE = r"[a-z0-9]+\[[^\]]*\]"
_VALUE = re.compile(rf"({_NAME})\s*:\s*({_TYPE})")
_NODE = re.compile(r'(?P<outputs>.*?)\s=\s(?P<op>\w+)\((?P<inputs>[^)]*)\)(?:\s\{(?P<attributes>.*)\})?(?:\s(?P<name>"[0-9a-f]*"))?')
_ATTRIBUTE = re.compile(rf'(\w+)=(?:({_TYPE})=)?("[0-9a-f]*"|\[[^\]]*\]|[^,]+)(?:,\s*|$)')


# Writing


def dumps(graph: Graph) -> str:
    """`graph` as text; the same graph gives the same text."""
    return "\n".join(_lines(graph, "graph")) + "\n"


def _lines(graph: Graph, word: str) -> list[str]:
    lines = [f"{word} {graph.name if _PLAIN.fullmatch(graph.name) else _quoted(graph.name)}"]
    lines += [f"input {_typed(graph, name)}{_held(graph, name)}{_state(graph, name)}" for name in graph.inputs]
    lines += [f"const {_typed(graph, name)} = {_array(array)}" for name, array in graph.constants.items()]
    lines += [line for node in graph.nodes for line in (_node(graph, node), *_body(node))]
    return lines + [f"output {value_name(name)}{_held(graph, name)}" for name in graph.outputs]


def _body(node: Node) -> list[str]:
    loop = loop_of(node)
    return [] if loop is None else [f"  {line}" for line in (*_lines(loop.body, "body"), "end")]


def _held(graph: Graph, name: str) -> str:
    return f" held {graph.held[name].value}" if name in graph.held else ""


def _state(graph: Graph, name: str) -> str:
    if name not in graph.states:
        return ""
    state = graph.states[name]
    return f" from {value_name(state.output)}{f' after {state.start!r}' if state.start else ''}"


def value_name(name: str) -> str:
    if not name:
        return "_"
    return f"%{name}" if _PLAIN.fullmatch(name) else f"%{_quoted(name)}"


def _quoted(text: str) -> str:
    return json.dumps(text)


def _typed(graph: Graph, name: str) -> str:
    return f"{value_name(name)}: {graph.types[name]}"


def _node(graph: Graph, node: Node) -> str:
    outputs = ", ".join(_typed(graph, name) if name else "_" for name in node.outputs)
    attributes = ", ".join(f"{key}={_attribute(value)}" for key, value in sorted(node.attributes.items()) if key != BODY)
    parts = [f"{outputs} = {node.op}({', '.join(map(value_name, node.inputs))})"]
    parts += [f"{{{attributes}}}"] if attributes else []
    parts += [_quoted(node.name)] if node.name else []
    return " ".join(parts)


def _attribute(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}[{','.join(map(str, value.shape))}]={_literal(value)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_attribute, value))}]"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _literal(array: np.ndarray) -> str:
    def number(value: Any) -> str:
        return str(value).lower() if isinstance(value, bool) else repr(value)

    if array.ndim == 0:
        return number(array.item())
    return f"[{', '.join(number(value) for value in array.reshape(-1).tolist())}]"


def _array(array: np.ndarray) -> str:
    if array.size <= INLINE:
        return _literal(array)
    first = array.reshape(-1)[0]
    if (array == first).all():
        return f"fill({_literal(first.reshape(()))})"
    if np.array_equal(array, _arange(array.shape, array.dtype)):
        return "arange()"
    found = _seed_of(array)
    return found or f"elided({hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:12]})"


def _seed_of(array: np.ndarray) -> str:
    """The pattern `normal(...)` that gives exactly `array`, or "". Four elements decide which seed is worth the comparison."""
    head = array.reshape(-1)[:4].astype(np.float64)
    for seed in range(64):
        sample = _normal((4,), array.dtype, seed, 1.0).astype(np.float64)
        if np.array_equal(sample, head):
            scale = 1.0
        elif array.dtype.kind == "f" and np.allclose(sample * (head[0] / sample[0]), head, rtol=1e-5, atol=0):
            scale = float(f"{head[0] / sample[0]:.6g}")
        else:
            continue
        if np.array_equal(array, _normal(array.shape, array.dtype, seed, scale)):
            return f"normal(seed={seed})" if scale == 1 else f"normal(seed={seed}, scale={scale!r})"
    return ""


# Reading


def loads(text: str) -> Graph:
    """The Graph that `text` writes; UsageError with the line's number where it does not parse."""
    graphs = [Graph("graph")]
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        try:
            _read_line_of(graphs, line)
        except (ValueError, KeyError, IndexError) as error:
            raise UsageError(f"does not parse: {line} ({error})", where=f"line {number}") from None
    graphs[0].touched()
    return graphs[0]


def _read_line_of(graphs: list[Graph], line: str) -> None:
    """A line of the innermost of some graphs, or one where another begins or ends."""
    word, _, rest = line.partition(" ")
    if word == BODY:
        inner = Graph(_shown(_hidden(rest)))
        graphs[-1].nodes[-1].attributes[BODY] = inner
        graphs.append(inner)
    elif word == "end":
        graphs.pop().touched()
    else:
        _read_line(graphs[-1], line)


def _hidden(line: str) -> str:
    """`line` with the text of every string in hexadecimal."""
    return _STRING.sub(lambda found: f'"{json.loads(found.group(0)).encode("utf-8", "surrogatepass").hex()}"', line)


def _shown(text: str) -> str:
    """The text of a hidden string, or of a plain word."""
    return bytes.fromhex(text[1:-1]).decode("utf-8", "surrogatepass") if text.startswith('"') else text


def _read_line(graph: Graph, line: str) -> None:
    word, _, rest = _hidden(line).partition(" ")
    if word == "graph":
        graph.name = _shown(rest.strip())
    elif word == "input":
        rest, _, state = rest.partition(" from ")
        value, _, held = rest.partition(" held ")
        graph.inputs.append(_hold(graph, _declare(graph, value), held))
        if state:
            output, _, start = state.partition(" after ")
            graph.states[graph.inputs[-1]] = State(_unname(output.strip()), float(start or 0))
    elif word == "output":
        value, _, held = rest.partition(" held ")
        graph.outputs.append(_hold(graph, _unname(value.strip()), held))
    elif word == "const":
        declared = _matched(_VALUE.match(rest), "a typed value")
        name = _declare(graph, declared.group(0))
        graph.constants[name] = _read_array(rest[declared.end() :].strip().removeprefix("=").strip(), graph.types[name])
    else:
        graph.nodes.append(_read_node(graph, _hidden(line)))


def _hold(graph: Graph, name: str, kind: str) -> str:
    if kind:
        graph.held[name] = DType(kind.strip())
    return name


def _matched(found: re.Match[str] | None, what: str) -> re.Match[str]:
    if found is None:
        raise ValueError(f"expected {what}")
    return found


def _unname(text: str) -> str:
    if text == "_":
        return ""
    if not text.startswith("%"):
        raise ValueError(f"{text!r} is no value, values start with %")
    return _shown(text[1:])


def _declare(graph: Graph, text: str) -> str:
    found = _matched(_VALUE.fullmatch(text.strip()), "%name: type")
    name = _unname(found.group(1))
    if name in graph.types:
        raise ValueError(f"{name!r} is defined twice")
    graph.types[name] = _read_type(found.group(2))
    return name


def _read_type(text: str) -> TensorType:
    dtype, _, extents = text.rstrip("]").partition("[")
    return TensorType(DType(dtype), tuple(_extent(item.strip()) for item in extents.split(",") if item.strip()))


def _extent(text: str) -> Dim:
    sign = "<~" if "<~" in text else "<="
    name, symbol, bound = text.partition(sign)
    return Symbol(name, int(bound), sign == "<~") if symbol else int(text)


def _read_node(graph: Graph, line: str) -> Node:
    found = _matched(_NODE.fullmatch(line), '%y: type = Op(%x) {attributes} "name"')
    outputs = [_output(graph, item) for item in re.findall(rf"(?:{_NAME})\s*:\s*{_TYPE}|[^,\s]+", found.group("outputs"))]
    inputs = [_unname(item.strip()) for item in found.group("inputs").split(",") if item.strip()]
    return Node(found.group("op"), inputs, outputs, _read_attributes(found.group("attributes") or ""), _shown(found.group("name") or ""))


def _output(graph: Graph, text: str) -> str:
    return "" if text == "_" else _declare(graph, text)


def _read_attributes(text: str) -> dict[str, Any]:
    """key=value, ... where a value is a number, a string, a list of them, or dtype[shape]=literal for an array."""
    result: dict[str, Any] = {}
    for key, kind, value in _ATTRIBUTE.findall(text):
        result[key] = _read_array(value.strip(), _read_type(kind)) if kind else _read_value(value.strip())
    return result


def _read_value(text: str) -> Any:
    if text.startswith("["):
        return [_read_value(item.strip()) for item in text[1:-1].split(",") if item.strip()]
    return _shown(text) if text.startswith('"') else _numbers(text)


def _read_array(text: str, kind: TensorType) -> np.ndarray:
    shape, dtype = kind.static_shape, kind.dtype.numpy
    pattern = re.fullmatch(r"(normal|fill|arange|elided)\((.*)\)", text)
    if pattern is None:
        return np.array(_numbers(text), dtype).reshape(shape)
    if pattern.group(1) == "arange":
        return _arange(shape, dtype)
    if pattern.group(1) == "fill":
        return np.full(shape, _numbers(pattern.group(2)), dtype)
    if pattern.group(1) == "elided":
        return _normal(shape, dtype, int(pattern.group(2), 16), 1.0)
    arguments = dict(item.strip().split("=") for item in pattern.group(2).split(","))
    return _normal(shape, dtype, int(arguments["seed"]), float(arguments.get("scale", 1)))


def _numbers(text: str) -> Any:
    """A number or a flat list of numbers; nan, inf, true and false are numbers too."""
    text = text.strip()
    if text.startswith("["):
        return [_numbers(item) for item in text[1:-1].split(",") if item.strip()]
    return {"true": True, "false": False}[text] if text in ("true", "false") else float(text) if re.search(r"[.nfe]", text) else int(text)


def _normal(shape: tuple[int, ...], dtype: np.dtype[Any], seed: int, scale: float) -> np.ndarray:
    """Gaussian floats; for integer types, uniform over the type's range (at most +-127)."""
    generator = np.random.default_rng(seed)
    if dtype.kind == "f":
        return (generator.standard_normal(shape, np.float32) * np.float32(scale)).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(bool)
    return generator.integers(0 if dtype.kind == "u" else -127, 128, shape).astype(dtype)


def _arange(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    return np.arange(int(np.prod(shape, dtype=np.int64))).astype(dtype).reshape(shape)
