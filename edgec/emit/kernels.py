"""Template kernels as C: the header with the argument structs, and one source for each SIMD vocabulary."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from edgec.base.resources import resource
from edgec.emit.endings import ending_of, render_endings, shape_of
from edgec.emit.float_words import PAIRS
from edgec.emit.int16_words import INT16_HEADERS
from edgec.emit.loop_forms import form_of, forms_of
from edgec.emit.templates import fill
from edgec.emit.vocabularies import SEVERAL, VOCABULARIES, Vocabulary, processors
from edgec.kernels import VARIANTS
from edgec.kernels.convolution import PANELS_PER_ITEM
from edgec.program.arguments import CHANNEL_BLOCK, LANES, PIXEL_BLOCK, Arguments, Window, in_struct, is_pointer
from edgec.program.program import Chosen, Program, Slot, TemplateCall
from edgec.targets import Target

_HALVES = {
    "float": "half", "floats": "halves", "FLOATS": "HALVES", "Float": "Half", "inputs": "half_inputs",
    "HELD": "HALF_HELD", "HOLD": "HALF_HOLD", "NEXT": "HALF_NEXT", "reals": "half_reals", "REALS": "HALF_REALS", "pooled": "half_pooled",
}  # fmt: skip
_NAME = "@"  # stands for the model's name, whose words are nobody's


def runtime_text(path: str) -> str:
    """A hand-written C source of runtimes/c."""
    return resource("runtimes", f"c/{path}").read_text(encoding="utf-8")


def render_kernel_header(name: str, used: Collection[Slot], target: Target) -> str:
    """NAME_kernels.h: the activation type, two structs for each kernel of `used` (a layer, its data), and every vocabulary's table."""
    kinds = _kinds(used)
    context = {
        "name": name,
        "activation": "int8_t" if target.signed_activations else "uint8_t",
        "halves": any(map(is_of_halves, kinds)),
        "structs": [
            (f"{name}_window", _members(name, Window, False)),
            *((f"{name}_{kind.kernel}{data}", _members(name, kind, bool(data))) for kind in kinds for data in ("", "_data")),
        ],
        "slots": [(slot.name, slot.kind.kernel) for slot in _ordered(used)],
        "vocabularies": target.vocabularies,
        "loop_forms": forms_of(target),
        "processors": processors(target.vocabularies) if target.arch in SEVERAL else [],
    }
    return fill("c", "kernels.h.j2", context)


def chosen_of(program: Program, vocabulary: str) -> dict[Slot, Chosen]:
    """What an instruction set has in each slot that a scheduled Program calls."""
    calls = [call for call in program.calls if isinstance(call, TemplateCall)]
    found = {(slot_of(call), chosen) for call in calls for chosen in call.chosen if chosen.vocabulary == vocabulary}
    held = dict(found)
    assert len(held) == len(found), "one variant in a slot for each instruction set"
    assert held.keys() == set(map(slot_of, calls)), "the Program is scheduled"
    return held


def slot_of(call: TemplateCall) -> Slot:
    """The one that a scheduled call uses."""
    return Slot(type(call.arguments), call.slot)


def render_kernels(name: str, vocabulary: str, used: Mapping[Slot, Chosen], target: Target) -> str:
    """NAME_kernels_<vocabulary>.c: the vocabulary's words, then what is in the slots of `used` written in them, then their table."""
    words = VOCABULARIES[vocabulary]
    kinds = _kinds(used)
    variants = {used[slot].function: (slot.kind, used[slot]) for slot in _ordered(used)}
    context = {
        "name": name,
        "words": words,
        "universal": target.arch in SEVERAL,
        "activation": "int8_t" if target.signed_activations else "uint8_t",
        "lanes": LANES,
        "pixel_block": PIXEL_BLOCK,
        "channel_block": CHANNEL_BLOCK,
        "panels_per_item": PANELS_PER_ITEM,
        "loop_form": form_of(vocabulary, target) if forms_of(target) else None,
    }
    whole = context | {
        "prologue": runtime_text("prologue.h").strip(),
        "headers": _headers(words, kinds, [chosen for _, chosen in variants.values()]),
        "bodies": [_body(kind, chosen, context) for kind, chosen in variants.values()],
        "functions": [used[slot].function for slot in _ordered(used)],
    }
    return fill("c", "kernels.c.j2", whole)


def _ordered(used: Collection[Slot]) -> list[Slot]:
    """`used` by the order of VARIANTS, so that equal programs give equal text."""
    return [slot for kind in VARIANTS for slot in sorted(used, key=lambda slot: slot.name) if slot.kind is kind]


def _kinds(used: Collection[Slot]) -> list[type[Arguments]]:
    """Their kernels, in that order."""
    return list(dict.fromkeys(slot.kind for slot in _ordered(used)))


def function_of(kind: type[Arguments]) -> str:
    """The ONNX operator that a kernel computes of its sums before it quantizes them; "" for none."""
    return str(getattr(kind, "function", ""))


def _body(kind: type[Arguments], chosen: Chosen, context: Mapping[str, object]) -> str:
    """A variant of a kernel in the vocabulary's words."""
    function = function_of(kind)
    facts = {
        "kernel": kind.kernel,
        "function": shape_of(function) if function else None,
        "ending": ending_of(function),
        "ending_of_copies": ending_of(function, "LANES"),  # of the scales of a panel, and of multipliers
        "variant": chosen.function,
        "tile": chosen.tile,
        "multiple": chosen.multiple,
        "halves": is_of_halves(kind),
    }
    if not is_of_halves(kind):
        return fill("c", f"{chosen.template}.c.j2", {**context, **facts}).strip()
    text = fill("c", f"{chosen.template}.c.j2", {**context, **facts, "name": _NAME}).strip()
    return in_halves(text).replace(_NAME, str(context["name"]))


def _headers(words: Vocabulary, kinds: Sequence[type[Arguments]], variants: Sequence[Chosen]) -> list[str]:
    """The texts that the kernels need, in order: a kernel that works on codes of 8 or 16 bits says so in its name."""
    kernels = [kind.kernel for kind in kinds]
    functions = list(dict.fromkeys(filter(None, map(function_of, kinds))))
    halves = [kind.kernel for kind in kinds if is_of_halves(kind)]
    whole, wide = (any(bits in kernel for kernel in kernels) for bits in ("int8", "int16"))
    before = ["common.h", words.look_up, *([words.float.header] if functions else [])]
    exact = ["int8_scalar.h", *words.int8_headers, "int8_common.h"] if whole else []
    exact += [words.wide] if any(kernel in PAIRS for kernel in kernels) else []
    real = words.float.headers(kernels)
    real += [words.float.header, "int8_scalar.h", *INT16_HEADERS[words.name], "int16_ending.h"] if wide else []
    real += ["window.h"] if "depthwise_int16" in kernels else []
    real += [words.half, "half_some.h"] if halves else []
    real += ["pool_half.h"] if any(kernel.startswith("pool") for kernel in halves) else []
    own = [header for chosen in variants for header in chosen.headers]
    after = [header for header in dict.fromkeys([*exact, *real, *own]) if header not in before]
    return [*map(_header, before), *([render_endings(functions)] if whole else []), *map(_header, after)]


def is_of_halves(kind: type[Arguments]) -> bool:
    """Whether a kernel is written in the words of halves."""
    return "half" in kind.kernel


def in_halves(text: str) -> str:
    """What is written in the words of floats, in those of halves, whose names are the same but for that."""
    return re.sub("[A-Za-z]+", lambda word: _HALVES.get(word[0], word[0]), text)


def _header(name: str) -> str:
    return runtime_text(f"vocabulary/{name}").strip()


def _members(name: str, kind: type, data: bool) -> list[str]:
    """What a layer is, or where its data lies, as C declarations in the order of the dataclass."""
    members = []
    for field in in_struct(kind):
        if is_pointer(field) != data:
            continue
        c_type = f"struct {name}_window " if field.name == "window" else field.metadata["c"]
        members.append(f"{c_type}{'' if c_type[-1] in '* ' else ' '}{field.name}")
    return members
