"""schedule(): every template call of a Program gets what computes it with each instruction set of a target, and the weights for that."""

from __future__ import annotations

from dataclasses import replace

from edgec.program.memory import prove_memory
from edgec.program.program import Program, TemplateCall
from edgec.schedule.choice import UNTUNED, Choices, choose, slot, variant_in, variant_of
from edgec.schedule.gpu.shading import shading
from edgec.schedule.loop_blocks import with_blocks
from edgec.schedule.loop_fusion import with_fused_loops
from edgec.schedule.loop_kernels import with_kernels
from edgec.schedule.loop_pieces import with_pieces
from edgec.schedule.packing import packed
from edgec.schedule.walks import with_walks
from edgec.targets import Target


def schedule(program: Program, target: Target, tuned: Choices = UNTUNED) -> Program:
    """`program` with all that lowering leaves open about template calls; no access of it lies outside of its buffer.

    tuned: what was measured, in place of what the cost model says.
    """
    program = with_kernels(program, target)
    if not target.gpu:
        program = with_pieces(with_blocks(with_fused_loops(program)))
    calls = [scheduled(call, target, tuned) if isinstance(call, TemplateCall) else call for call in program.calls]
    if target.gpu and not program.sizes:
        calls = [shaded(call) if isinstance(call, TemplateCall) else call for call in calls]
    done = packed(replace(program, calls=calls), target, tuned)
    prove_memory(done)
    return done


def scheduled(call: TemplateCall, target: Target, tuned: Choices = UNTUNED) -> TemplateCall:
    """`call` with what computes it. All instruction sets of a package divide its work alike, and share weights and scratch memory."""
    call = replace(call, arguments=with_walks(call.arguments, target))
    kind, variant = type(call.arguments), variant_of(call.arguments, target, tuned)
    variants = [variant_in(kind, variant, vocabulary) for vocabulary in target.vocabularies]
    items, packings = {variant.items(call.arguments) for variant in variants}, {variant.packing.name for variant in variants}
    assert len(items) == len(packings) == 1, f"{call.call.name}: the variants of {kind.kernel} divide its work or its weights differently"
    chosen = tuple(choose(kind, variant, vocabulary, target) for vocabulary in target.vocabularies)
    packed_reach = tuple((argument, count(call.arguments)) for argument, count in variant.packing.reach.items())
    scratch = max(variant.scratch(call.arguments, target.vocabularies) for variant in variants)
    return replace(
        call,
        slot=slot(kind, variant).name,
        chosen=chosen,
        packing=packings.pop(),
        packed=packed_reach,
        items=items.pop(),
        scratch_bytes=scratch,
    )


def shaded(call: TemplateCall) -> TemplateCall:
    """`call`, all of whose sizes are static, with the form of its shader."""
    return replace(call, shading=shading(call.arguments))
