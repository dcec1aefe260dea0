"""What a planned Program is, in the words of the manifest."""

from __future__ import annotations

from edgec.emit.addresses import root_of
from edgec.emit.calls import work_items
from edgec.package.manifest import Origin, options_hash
from edgec.package.parts import Call, Kept, Memory, Options, Size
from edgec.package.parts import Port as PortFacts
from edgec.program.expr import Const, Expr, bound
from edgec.program.expr import Size as SizeExpr
from edgec.program.program import AnyCall, Buffer, Kind, Port, Program, State, TemplateCall
from edgec.program.titles import titles

_NOTHING_CHOSEN = Options(None, (), "model", "model", "incbin", "auto", "float32", None, {}, False, {}, None, 0)
# where a Program comes from that was made by hand
BY_HAND = Origin(
    precision="unknown", notes=(), card={}, model_sha256="0" * 64, network_sha256="0" * 64, calibration_sha256=None,
    options_sha256=options_hash(_NOTHING_CHOSEN), options=_NOTHING_CHOSEN, versions={}, quantization=(), sqnr_db={},
)  # fmt: skip


def calls_of(program: Program) -> tuple[Call, ...]:
    return tuple(map(_call, program.calls, titles(program)))


def memory_of(program: Program) -> tuple[Memory, ...]:
    return tuple(_memory(program, buffer) for buffer in program.buffers.values())


def sizes_of(program: Program) -> dict[str, Size]:
    return {size.name: Size(1, size.bound) for size in program.sizes}


def ports_of(ports: list[Port]) -> tuple[PortFacts, ...]:
    return tuple(_port(port) for port in ports)


def states_of(program: Program) -> tuple[Kept, ...] | None:
    """None where there are none."""
    return tuple(map(_kept, program.states)) or None


def _kept(state: State) -> Kept:
    port, shape = state.input, tuple(bound(extent) for extent in state.input.shape)
    return Kept(port.name, state.output.name, port.dtype.value, shape, state.start, tuple(dict.fromkeys(state.places)))


def _port(port: Port) -> PortFacts:
    symbolic = any(not isinstance(extent, Const) for extent in port.shape)
    return PortFacts(
        port.name, port.identifier, port.dtype.value, tuple(bound(extent) for extent in port.shape),
        symbolic_shape=tuple(_extent(extent) for extent in port.shape) if symbolic else None, shapes=port.shapes or None,
        scale=port.scale, zero_point=None if port.scale is None else port.zero_point, shape_of=port.shape_of or None,
    )  # fmt: skip


def _extent(extent: Expr) -> int | str:
    """An extent that runs decide: the size's name, or the bound where arithmetic is done on it."""
    return extent.name if isinstance(extent, SizeExpr) else bound(extent)


def _call(call: AnyCall, title: str) -> Call:
    kernel = call.arguments.kernel if isinstance(call, TemplateCall) else "loop"
    about = call.call
    return Call(
        title, kernel, tuple(about.nodes), about.macs, bound(work_items(call)), tuple(about.reads), tuple(about.writes),
        about.within or None,
    )  # fmt: skip


def _memory(program: Program, buffer: Buffer) -> Memory:
    root, _ = root_of(program, buffer)
    address = buffer.address if root.kind in (Kind.ARENA, Kind.CONSTANT) else None
    return Memory(buffer.name, root.kind.value, buffer.dtype.value, buffer.max_bytes, address)
