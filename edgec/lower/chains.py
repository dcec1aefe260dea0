"""How much one loop kernel computes: a chain of deferred values is cut, and its result kept in memory, where it grows too long.

Without this, what is written as one expression has no bound: neither compilers nor people read a thousand nested calls, and a
value that a node reads twice would be computed twice at each of its nodes.
"""

from __future__ import annotations

from edgec.ir.graph import Node
from edgec.lower.builder import Lowering
from edgec.lower.values import Value

LONGEST = 24  # deferred nodes behind one value, those counted twice that are evaluated twice


def cut(lowering: Lowering, node: Node) -> None:
    """After the rule of `node`: put its results into memory when too much hangs on them."""
    operator = lowering.matched.at.get(node)  # whose codes are made of its operands', whatever nodes are between
    reads = node.inputs if operator is None else [operand.name for operand in operator.operands]
    length = 1 + sum(lowering.lengths.get(name, 0) for name in reads)
    for name in node.outputs:
        value = lowering.values.get(name)
        if value is None or _is_stored(value):
            continue
        if length <= LONGEST:
            lowering.lengths[name] = length
        else:
            lowering.values[name] = lowering.stored(value, name)


def _is_stored(value: Value) -> bool:
    if value.coded is not None:
        return value.coded.value.view is not None
    return value.view is not None or value.constant is not None
