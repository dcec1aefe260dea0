"""Constant data in a package: the layout of the weights blob, and the three forms in which bytes travel with C sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from edgec.package.manifest import Content
from edgec.program.contents import contents
from edgec.program.expr import bound
from edgec.program.program import Buffer, Kind, Program

ALIGNMENT = 64
PIECE = 4000  # bytes of one string literal; a pedantic compiler accepts 4095


def layout_constants(program: Program) -> memoryview:
    """Give every CONSTANT buffer its address in the weights blob and return the blob. Data that lie in one already stay there.

    Buffers begin at multiples of 64 bytes in the order of the Program, equal ones share their bytes, and at least 64
    bytes follow the last one, so that vector loads may run over its end. The buffers' own data become views of the blob,
    so that large weights are not there twice.
    """
    constants = [name for name, buffer in program.buffers.items() if buffer.kind is Kind.CONSTANT]
    whole = [name for name in constants if program.buffers[name].parent is None]
    blob = _blob_of([program.buffers[name] for name in whole])
    if blob is None:
        places, end = _places([program.buffers[name] for name in whole])
        blob = np.zeros(end, np.uint8)
        for name, place in zip(whole, places, strict=True):  # nothing here holds a buffer's old data once it is moved
            _move(program, name, place, blob)
    for name in constants:
        if program.buffers[name].parent is not None:
            program.place(name, _view_address(program, program.buffers[name]))
    return blob.data.toreadonly()


def _blob_of(buffers: Sequence[Buffer]) -> np.ndarray | None:
    """The blob that all of these were moved to, and no others."""
    bases = [None if buffer.data is None or buffer.address is None else buffer.data.base for buffer in buffers]
    blob = bases[0] if bases else None
    if not isinstance(blob, np.ndarray) or blob.dtype != np.uint8 or any(base is not blob for base in bases):
        return None
    end = max(buffer.address + _padded(buffer) for buffer in buffers if buffer.address is not None)
    return blob if blob.size == end + ALIGNMENT else None


def _places(buffers: Sequence[Buffer]) -> tuple[list[int], int]:
    """The address of each buffer, and the size of all."""
    places, known, end = [], dict[bytes, int](), 0
    for buffer in buffers:
        if buffer.data is None:
            raise ValueError(f"constant buffer {buffer.name!r} has no data")
        _, key = contents(buffer.data)  # bytes are shared whatever their type
        if key not in known:
            known[key] = end
            end += _padded(buffer)
        places.append(known[key])
    return places, end + ALIGNMENT


def _padded(buffer: Buffer) -> int:
    """Bytes that it takes in the blob."""
    return 0 if buffer.data is None else -(-buffer.data.nbytes // ALIGNMENT) * ALIGNMENT


def _move(program: Program, name: str, address: int, blob: np.ndarray) -> None:
    buffer = program.buffers[name]
    assert buffer.data is not None
    kind = buffer.data.dtype.newbyteorder("<")
    view = blob[address : address + buffer.data.nbytes].view(kind)
    view[:] = buffer.data
    program.buffers[name] = replace(buffer, data=view, address=address)


def _view_address(program: Program, buffer: Buffer) -> int:
    if buffer.parent is None:
        assert buffer.address is not None
        return buffer.address
    offset = 0 if buffer.offset is None else bound(buffer.offset) * buffer.dtype.bytes
    return _view_address(program, program.buffers[buffer.parent]) + offset


_ASSEMBLY = """\
/* {bytes} bytes of {what}, as the assembler includes them from {file}. */
#if defined(__APPLE__)
    .section __TEXT,__const
    .globl _{symbol}
    .private_extern _{symbol}
    .p2align 6
_{symbol}:
#elif defined(_WIN32)
    .section .rdata,"dr"
    .globl {symbol}
    .p2align 6
{symbol}:
#else
    .section .rodata,"a",%progbits
    .globl {symbol}
    .hidden {symbol}
    .type {symbol}, %object
    .size {symbol}, {bytes}
    .p2align 6
{symbol}:
#endif
    .incbin "{file}"
#if defined(__linux__) && defined(__ELF__)
    .section .note.GNU-stack,"",%progbits
#endif
"""


def assembly(symbol: str, file: str, data: Content, what: str) -> bytes:
    """An assembler source that holds `file` (which contains `data`) under the name `symbol`."""
    return _ASSEMBLY.format(symbol=symbol, file=file, bytes=len(data), what=what).encode()


_ALIGNED = """\
#if defined(_MSC_VER)
#define ALIGNED_64 __declspec(align(64))
#else
#define ALIGNED_64 __attribute__((aligned(64)))
#endif

"""


def c_source(symbol: str, data: Content, what: str) -> bytes:
    """`const struct SYMBOL SYMBOL` made of string literals: C99 and C++, for compilers without .incbin.

    A literal brings its own terminating zero, which C++ insists on storing: each piece ends at a zero byte of the data,
    or is written as numbers where there is none.
    """
    pieces = list(_pieces(data))
    parts = [
        f"/* {len(data)} bytes of {what}. Every piece ends with a zero byte of its own data. */\n",
        _ALIGNED,
        f'#ifdef __cplusplus\nextern "C" {{\n#endif\n\nstruct {symbol} {{\n',
        *(f"    unsigned char piece{index}[{len(piece)}];\n" for index, piece in enumerate(pieces)),
        f"}};\n\nextern const struct {symbol} {symbol};\n\nALIGNED_64 const struct {symbol} {symbol} = {{\n",
    ]
    encoded = "".join(parts).encode()
    body = b",\n".join(_literal(piece) if piece[-1] == 0 else _numbers(piece) for piece in pieces)
    return encoded + body + b"\n};\n\n#ifdef __cplusplus\n}\n#endif\n"


def _pieces(data: Content) -> Iterator[bytes]:
    start = 0
    while start < len(data):
        block = bytes(data[start : start + PIECE])
        piece = block[: block.rfind(0) + 1] or block
        yield piece
        start += len(piece)


# A byte as it stands in a string literal. Octal escapes are always three digits, so no digit after one joins it.
_SPELLED = [b"\\%03o" % value for value in range(256)]
for _value in range(32, 127):
    _SPELLED[_value] = bytes([_value])
_SPELLED[ord("\\")], _SPELLED[ord('"')] = b"\\\\", b'\\"'
_SPELLED[ord("?")] = b"\\?"  # no trigraph
_TABLE = np.array(_SPELLED, "S4")  # filled up with zero bytes, which are dropped again
_NUMBERS = np.array([b"%d," % value for value in range(256)], "S4")
_LINE = 64  # bytes


def _literal(piece: bytes) -> bytes:
    """The piece without its last byte, which is the literal's own zero, in lines of 64 bytes."""
    spelled = _TABLE[np.frombuffer(piece, np.uint8)[:-1]]
    whole = len(spelled) // _LINE
    lines = np.empty((whole, _LINE + 3), "S4")
    lines[:, 0], lines[:, 1], lines[:, 2:-1], lines[:, -1] = b"    ", b'"', spelled[: whole * _LINE].reshape(whole, _LINE), b'"\n'
    text, rest = lines.tobytes(), spelled[whole * _LINE :].tobytes()
    if rest or not whole:
        text += b'    "' + rest + b'"'
    return text.replace(b"\0", b"").removesuffix(b"\n")


def _numbers(piece: bytes) -> bytes:
    return b"    {" + _NUMBERS[np.frombuffer(piece, np.uint8)].tobytes().replace(b"\0", b"").removesuffix(b",") + b"}"
