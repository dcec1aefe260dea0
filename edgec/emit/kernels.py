"""Template kernels as C: the header with the argument structs, and one source for each SIMD vocabulary."""

from __future__ import annotations

from dataclasses import fields

from edgec.emit.float_words import PAIRS
from edgec.emit.text import fill
from edgec.emit.vocabularies import SEVERAL, VOCABULARIES, Vocabulary, processors
from edgec.program.kernels import CHANNEL_BLOCK, LANES, PIXEL_BLOCK, TEMPLATES, Window
from edgec.program.work import PANELS_PER_ITEM
from edgec.resources import resource
from edgec.targets import Target


def runtime_text(path: str) -> str:
    """A hand-written C source of runtimes/c."""
    return resource("runtimes", f"c/{path}").read_text(encoding="utf-8")


def render_kernel_header(name: str, used: frozenset[type], target: Target) -> str:
    """NAME_kernels.h: the activation type, one argument struct for each kernel of `used`, and every vocabulary's table."""
    context = {
        "name": name,
        "activation": "int8_t" if target.signed_activations else "uint8_t",
        "structs": [(_struct(name, kind), _members(name, kind)) for kind in (Window, *_ordered(used))],
        "kernels": [TEMPLATES[kind] for kind in _ordered(used)],
        "vocabularies": target.vocabularies,
        "wide_loops": has_wide_loops(target),
        "processors": processors(target.vocabularies) if target.arch in SEVERAL else [],
    }
    return fill("c", "kernels.h.j2", context)


def render_kernels(name: str, vocabulary: str, used: frozenset[type], target: Target) -> str:
    """NAME_kernels_<vocabulary>.c: the vocabulary's words, then each kernel of `used` written in them, then their table."""
    words = VOCABULARIES[vocabulary]
    kernels = [TEMPLATES[kind] for kind in _ordered(used)]
    context = {
        "name": name,
        "words": words,
        "universal": target.arch in SEVERAL,
        "activation": "int8_t" if target.signed_activations else "uint8_t",
        "k_multiple": target.k_multiple,
        "lanes": LANES,
        "pixel_block": PIXEL_BLOCK,
        "channel_block": CHANNEL_BLOCK,
        "panels_per_item": PANELS_PER_ITEM,
        "wide_loops": has_wide_loops(target),
    }
    whole = context | {
        "prologue": runtime_text("prologue.h").strip(),
        "headers": [runtime_text(f"vocabulary/{header}").strip() for header in _headers(words, kernels)],
        "bodies": [fill("c", f"{kernel}.c.j2", context).strip() for kernel in kernels],
        "kernels": kernels,
    }
    return fill("c", "kernels.c.j2", whole)


def has_wide_loops(target: Target) -> bool:
    """Whether the package holds its loops twice, for SSE4.1 and for AVX2; on other processors one form serves all."""
    return "avx2" in target.vocabularies


def _ordered(used: frozenset[type]) -> list[type]:
    """The kernels of `used` in the order of TEMPLATES, so that equal programs give equal text."""
    return [kind for kind in TEMPLATES if kind in used]


def _headers(words: Vocabulary, kernels: list[str]) -> list[str]:
    """The headers that the kernels need: a kernel that works on int8 says so in its name."""
    whole = any("int8" in kernel for kernel in kernels)
    return [
        "common.h",
        words.look_up,
        *(("int8_scalar.h", *words.int8_headers, "int8_common.h") if whole else ()),
        *((words.wide,) if any(kernel in PAIRS for kernel in kernels) else ()),
        *words.float.headers(kernels),
    ]


def _struct(name: str, kind: type) -> str:
    return f"{name}_window" if kind is Window else f"{name}_{TEMPLATES[kind]}"


def _members(name: str, kind: type) -> list[str]:
    """The struct's members as C declarations, in the order of the dataclass."""
    members = []
    for field in fields(kind):
        if field.name == "window":
            members.append(f"struct {name}_window window")
        else:
            c_type: str = field.metadata["c"]
            members.append(f"{c_type}{field.name}" if c_type.endswith("*") else f"{c_type} {field.name}")
    return members
