"""The text form of `match`: a line for each integer operator, then one for each node near to codes that stays in float, and why.

    match example
    %y_q: 0.05@20 in 20..255 = clause 4 Conv+Relu(%x: 0.02@100) {weights=int8[4,3,1,1], multipliers=0.0004..0.0016} "conv", "relu"
    float Softmax "probabilities": no clause computes Softmax

`scale@zero` is a grid, of codes from 0 to 255, `scale@zero/16` one of codes from 0 to 65,535; what ends in float has none.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from edgec.integer.grid import Grid
from edgec.integer.match import Matched
from edgec.integer.operators import (
    DotProduct,
    Function,
    IntegerOperator,
    Join,
    LayerNorm,
    Mean,
    Move,
    Multiplication,
    PairProduct,
    Softmax,
    Sum,
    Table,
    WideDotProduct,
)
from edgec.ir.graph import Graph, Node
from edgec.ir.text import value_name


def dumps(graph: Graph, matched: Matched) -> str:
    """`matched` as text; the same graph gives the same text."""
    lines = [f"match {graph.name}", *map(_line, matched.operators)]
    lines += [f"float {node.op}{_quoted(node)}: {why}" for node, why in matched.refused.items()]
    return "\n".join(lines) + "\n"


def _line(operator: IntegerOperator) -> str:
    shown = [node for node in operator.nodes if node is operator.node or node.op not in ("QuantizeLinear", "DequantizeLinear")]
    operands = ", ".join(f"{value_name(operand.name)}: {_grid(operand.grid)}" for operand in operator.operands)
    if not operator.operands:
        operands = value_name(operator.node.inputs[0])
    facts = ", ".join(f"{key}={value}" for key, value in _FACTS.get(type(operator), lambda _: {})(operator).items())
    parts = [f"{_results(operator)} = clause {operator.clause} {'+'.join(node.op for node in shown)}({operands})"]
    parts += [f"{{{facts}}}"] if facts else []
    return " ".join(parts) + ",".join(_quoted(node) for node in shown)


def _results(operator: IntegerOperator) -> str:
    tail = operator.tail
    if tail is not None:
        bounds = "" if (tail.low, tail.high) == (0, tail.grid.most) else f" in {tail.low}..{tail.high}"
        return f"{value_name(tail.name)}: {_grid(tail.grid)}{bounds}"
    kept = operator.operands[0].grid if isinstance(operator, Move) else operator.grid if isinstance(operator, Join) else None
    kind = _grid(kept) if kept is not None else "float32"
    return ", ".join(f"{value_name(name)}: {kind}" for name in operator.node.outputs if name)


def _grid(grid: Grid) -> str:
    return f"{grid.scale:.6g}@{grid.zero}" + (f"/{grid.bits}" if grid.bits != 8 else "")


def _quoted(node: Node) -> str:
    return f' "{node.name}"' if node.name else ""


def _range(values: np.ndarray) -> str:
    ends = dict.fromkeys(f"{end:.6g}" for end in (values.min(), values.max())) if values.size else ()
    return "..".join(ends)


def _number(value: Fraction | None) -> str:
    return "none" if value is None else f"{float(value):.6g}"


def _function(function: Function) -> str:
    numbers = ", ".join(map(_number, function.numbers))
    return f"{function.name}({numbers})" if numbers else function.name


def _products(operator: DotProduct) -> dict[str, str]:
    return {
        "weights": f"{operator.weights.codes.dtype.name}[{','.join(map(str, operator.weights.codes.shape))}]",
        "bias": _range(operator.bias),
        "multipliers": _range(operator.multipliers),
        **({} if operator.behind is None else {"behind": _range(operator.behind)}),
    }


_FACTS: dict[type[IntegerOperator], Callable[[Any], dict[str, str]]] = {
    DotProduct: _products,
    WideDotProduct: _products,
    PairProduct: lambda operator: {"multiplier": f"{operator.multiplier:.6g}"},
    LayerNorm: lambda operator: {
        "epsilon": str(operator.epsilon),
        "scale": _range(operator.scale),
        "offset": _range(operator.offset),
    },
    Softmax: lambda operator: {"inverse": f"{operator.inverse:.6g}"},
    Sum: lambda operator: {"multipliers": ", ".join(f"{value:.6g}" for value in operator.multipliers)},
    Multiplication: lambda operator: {"multiplier": f"{operator.multiplier:.6g}"},
    Mean: lambda operator: {"factor": f"{operator.factor:.6g}", "pixels": str(operator.count)},
    Table: lambda operator: {"function": " -> ".join(map(_function, operator.functions))},
}
