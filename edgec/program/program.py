"""The Program: kernel calls over buffers, for one target. It knows nothing of the graph beyond types."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from edgec.ir.types import DType
from edgec.program.arguments import Arguments
from edgec.program.expr import Expr, Size, Var, bound, const

ONE = const(1)


class Kind(Enum):
    """Where a buffer lives."""

    INPUT = "input"  # the caller's memory, or a state's, read only
    OUTPUT = "output"  # the caller's memory, or a state's, written
    ARENA = "arena"  # planned into the arena; address in bytes after planning
    CONSTANT = "constant"  # in the weights blob; address in bytes after packing


@dataclass(frozen=True)
class Buffer:
    """A one-dimensional run of `size` elements. Shape and layout live in the index expressions of those who use it.

    `parent` makes this a view: it starts `offset` elements (of this dtype) into the parent's memory.
    `below`: the elements are places, 0 <= element < below; whoever writes them sees to it.
    """

    name: str
    dtype: DType
    size: Expr
    kind: Kind
    data: np.ndarray | None = None  # CONSTANT only: the bytes, one-dimensional
    parent: str | None = None
    offset: Expr | None = None
    address: int | None = None
    below: Expr | None = None

    @property
    def max_bytes(self) -> int:
        return bound(self.size) * self.dtype.bytes


# Statements of a loop kernel


@dataclass(frozen=True)
class For:
    """for (var = start; var < start + extent; var++) body

    lanes: the totals in it, `v = op(v, x)`, are kept in 16 parts, from a number that changes none. Iteration i joins part i mod 16; in the
    end part j joins part j + 8, of these the first four j + 4 and so on, and v what is left. Such a loop starts at 0 and holds none.
    """

    var: Var
    extent: Expr
    body: tuple[Statement, ...]
    start: Expr | None = None
    lanes: bool = False


@dataclass(frozen=True)
class Declare:
    """A named scalar; `mutable` when an Assign changes it later."""

    var: Var
    value: Expr
    mutable: bool = False


@dataclass(frozen=True)
class Assign:
    var: Var
    value: Expr


@dataclass(frozen=True)
class Store:
    buffer: str
    index: Expr
    value: Expr


Statement = For | Declare | Assign | Store


@dataclass(frozen=True)
class Pointer:
    """The address of element `offset` of a buffer."""

    buffer: str
    offset: Expr


@dataclass(frozen=True)
class When:
    """The bool in a buffer that holds or not."""

    buffer: str
    holds: bool


@dataclass(frozen=True)
class Repeat:
    """Calls that run in turns: those `within` it, one behind the other, behind one more that begins the first turn.

    turn: the buffer of one int32 that is the turn's number, which the call before them and the last of them write. goes_on: the one that
    the last of them leaves at 0 where no further turn begins; where `conditional` the call before them does so too.
    """

    turns: int
    turn: str
    goes_on: str
    conditional: bool


@dataclass(frozen=True)
class Call:
    """What every kernel call says about itself: its C name, the ONNX nodes it computes and the comment above it.

    macs: of a whole run. when: what it writes is taken only then; it may be left out else. shape: the set of shapes for which it is
    there; 0: the only one. within: the names of what it runs in turns of, outermost first.
    """

    name: str
    nodes: tuple[str, ...]
    comment: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    macs: int
    when: When | None = None
    shape: int = 0
    within: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoopCall:
    """A loop nest. The outermost For, when `parallel`, is split statically over the threads.

    `outside`: a buffer of one int32; when the call leaves another number than 0 there, the run ends with the status BAD_INDEX.
    """

    call: Call
    body: tuple[Statement, ...]
    parallel: bool
    outside: str | None = None


@dataclass(frozen=True)
class Chosen:
    """What computes a template call with one instruction set: a variant of its kernel, and a tile, None for a variant that has none.

    function: the variant's name in C, and template what it is written in, templates/c/TEMPLATE.c.j2, in the words of
    headers beside those that the kernel has anyhow.
    multiple: what the inputs of packed weights are padded to a multiple of; alike in all instruction sets of a package.
    """

    vocabulary: str
    variant: str
    function: str
    template: str
    tile: object
    multiple: int = 1
    headers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Slot:
    """A place in the table of kernels, where every instruction set has what it computes calls of a kernel with."""

    kind: type[Arguments]
    name: str


@dataclass(frozen=True)
class Shading:
    """How a shader computes a template call: its form, and the tile that a workgroup or an invocation makes.

    matrices: the tile of another form, for Apple GPUs whose simdgroups multiply matrices; None where it would be no faster.
    """

    form: str
    tile: object
    matrices: object | None = None


@dataclass(frozen=True)
class TemplateCall:
    """A call of a template kernel: `arguments` is one of the frozen dataclasses of edgec/kernels.

    The rest is what scheduling adds: the name of the slot that it calls, and what each of the target's instruction sets
    has there; in which order it reads the weights, which lowering leaves plain, by output channel, and `packed`, of which
    arguments it reads how many elements where they say otherwise; `items` units of work are split statically over the
    threads, each of which needs `scratch_bytes` of its own; and of targets with a GPU its shader's form, where it has several.
    """

    call: Call
    arguments: Arguments
    slot: str = ""
    chosen: tuple[Chosen, ...] = ()
    packing: str = ""
    packed: tuple[tuple[str, int], ...] = ()
    items: Expr = ONE
    scratch_bytes: int = 0
    shading: Shading | None = None


AnyCall = LoopCall | TemplateCall


def read_by(arguments: Arguments) -> tuple[str, ...]:
    """The buffers that a template kernel reads."""
    return tuple(dict.fromkeys(item.buffer for key, item in vars(arguments).items() if isinstance(item, Pointer) and key != "y"))


@dataclass(frozen=True)
class Port:
    """An input or output of the package, as the caller sees it. scale is None for a float (or integer) value.

    shape_of: the output whose shape this one tells, which only a run knows; its elements lie one behind the other, and zeros after them.
    shapes: where a run has one of several sets of shapes, its shape in each; `shape` is then the largest.
    """

    name: str  # ONNX name
    identifier: str  # C identifier
    buffer: str
    dtype: DType
    shape: tuple[Expr, ...]
    scale: float | None = None
    zero_point: int = 0
    shape_of: str = ""
    shapes: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class State:
    """An input that is the output of the run before, of the same type and shape, and at first `start` in every element.

    places: set by planning; two in the arena in bytes, of which one is read and the other written, and after a run the other way round.
    They are one where nothing is read any more when the first element is written.
    """

    input: Port
    output: Port
    start: float
    places: tuple[int, int] = (0, 0)

    @property
    def turns(self) -> bool:
        return self.places[0] != self.places[1]


@dataclass
class Program:
    """Everything that emission needs. `arena_bytes` is set by planning."""

    name: str
    target: str
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    calls: list[AnyCall] = field(default_factory=list)
    repeats: dict[str, Repeat] = field(default_factory=dict)
    sizes: list[Size] = field(default_factory=list)
    counts: dict[str, str] = field(default_factory=dict)  # of each size that a call finds, the buffer of one int32 that it is in
    arena_bytes: int = 0
    scratch_bytes: int = 0  # of the hungriest call, for one thread
    live_bound_bytes: int = 0  # the largest sum of buffers alive at once, and the states: no plan can be smaller

    @property
    def ports(self) -> list[Port]:
        """All that a run reads and leaves: inputs, outputs, and what is read and written of the states."""
        return [*self.inputs, *self.outputs, *(port for state in self.states for port in (state.input, state.output))]

    def root(self, name: str) -> str:
        """The buffer in whose memory a buffer lies, through all views; itself where it is none."""
        while (parent := self.buffers[name].parent) is not None:
            name = parent
        return name

    def place(self, name: str, address: int) -> None:
        self.buffers[name] = replace(self.buffers[name], address=address)
