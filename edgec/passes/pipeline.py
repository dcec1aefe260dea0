"""PIPELINE, the order of all rewrites, and optimize, which runs them until nothing changes."""

from __future__ import annotations

from itertools import count

import numpy as np

from edgec.base.budget import Budget, check_time, spending
from edgec.base.errors import ModelError
from edgec.ir.graph import Graph
from edgec.ir.loop import loops_in
from edgec.ir.verify import verify
from edgec.ops.weights import check_weights
from edgec.passes import (
    activations,
    affine,
    arithmetic,
    channel_scales,
    codes,
    constants,
    convolutions,
    duplicates,
    gemm,
    loop,
    noops,
    normalizations,
    pools,
    reshapes,
    softmaxes,
    transposes,
)
from edgec.passes.rewrite import Rewrite, log

ROUNDS = 50  # real models settle within six

PIPELINE: tuple[Rewrite, ...] = (
    # what is known, done twice, or nothing
    constants.fold_shape,
    constants.fold_constants,
    codes.transpose_codes,
    noops.remove_identity,
    noops.remove_cast,
    noops.remove_transpose,
    noops.remove_reshape,
    noops.remove_slice,
    noops.remove_pad,
    noops.remove_concat,
    noops.remove_split,
    noops.remove_resize,
    noops.remove_pool,
    noops.remove_clip,
    duplicates.merge_duplicates,
    duplicates.remove_dead,
    loop.move_constants_inside,
    # data movement
    reshapes.canonical_reshape,
    reshapes.merge_reshapes,
    reshapes.sink_reshape,
    reshapes.merge_casts,
    reshapes.merge_slices,
    transposes.merge_transposes,
    transposes.transpose_to_reshape,
    transposes.sink_through_elementwise,
    transposes.sink_through_concat,
    transposes.sink_through_pad,
    transposes.sink_through_reduction,
    transposes.sink_through_softmax,
    transposes.sink_through_slice,
    transposes.sink_through_resize,
    # patterns, before the algebra below takes them apart
    arithmetic.extreme_to_clip,
    arithmetic.merge_bounds,
    arithmetic.clip_to_relu,
    activations.unify_slope,
    activations.fuse_gelu,
    activations.fuse_hard_swish,
    activations.fuse_hard_sigmoid,
    activations.fuse_swish,
    softmaxes.fuse_softmax,
    normalizations.fuse_layer_norm,
    normalizations.fuse_root_norm,
    normalizations.fold_layer_norm_scale,
    normalizations.fold_layer_norm_bias,
    normalizations.fold_instance_norm_scale,
    normalizations.fold_instance_norm_bias,
    normalizations.normalize_images,
    # algebra
    arithmetic.remove_neutral,
    arithmetic.remove_double_negation,
    arithmetic.simplify_power,
    arithmetic.divide_by_power_of_two,
    arithmetic.merge_constants,
    # into weights and windows
    affine.fold_batch_norm,
    affine.batch_norm_to_affine,
    affine.scale_before_product,
    affine.fold_multiplier,
    affine.fold_addend,
    channel_scales.multiply_before_bounds,
    channel_scales.multiply_coded_weights,
    channel_scales.multiply_depthwise_codes,
    gemm.matmul_add_to_gemm,
    gemm.add_computed_bias,
    gemm.normalize_gemm,
    gemm.merge_linear_chain,
    gemm.merge_left_chain,
    pools.fold_pad,
    pools.maxpool_before_relu,
    pools.relu_before_maxpool,
    pools.canonical_global_pool,
    convolutions.join_convolutions,
)


def optimize(graph: Graph, budget: Budget | None = None) -> None:
    """Rewrite `graph`, and the bodies of its loops, in place until no rule applies. Inputs, outputs and their names stay; results agree up
    to float rounding.

    budget: what it may cost (the default, or what counts already); BudgetError when it costs more. ModelError when constants that
    belong together leave float32, or make no number.
    """
    with spending(budget), np.errstate(all="ignore"):
        _settle(graph)
        for found in loops_in(graph):
            optimize(found.body)
    check_weights(graph, "merged with the constants around it, it leaves float32 or has no value: the weights are too large, or negative")
    name_uniquely(graph)


def _settle(graph: Graph) -> None:
    for number in range(ROUNDS):
        changed = [rewrite.name for rewrite in PIPELINE if apply(rewrite, graph)]
        duplicates.remove_unread_constants(graph)
        verify(graph)
        log.debug("round %d: %s", number + 1, ", ".join(changed) or "nothing left to do")
        if not changed:
            break
    else:
        log.warning("%s: rewrites did not settle within %d rounds", graph.name, ROUNDS)


def apply(rewrite: Rewrite, graph: Graph) -> bool:
    """Try one rule on every node once; whether it changed the graph."""
    changed = False
    for node in graph:
        where = f"{node.name} ({node.op})"
        try:
            applied = graph.producer(node.outputs[0]) is node and rewrite(graph, node)
        except ArithmeticError as error:  # an error of arithmetic comes from numbers, and those are the model's
            raise ModelError(f"its numbers cannot be computed with ({error})", where=where) from error
        if applied:
            check_time(f"{where} in {rewrite.name}")
            changed = True
    return changed


def name_uniquely(graph: Graph) -> None:
    """Of nodes that share a name the first keeps it; the others, which came out of it, are called name/Operator."""
    taken = {node.name for node in graph.nodes}
    seen: set[str] = set()
    for node in graph.nodes:
        if node.name and node.name in seen:
            candidates = (f"{node.name}/{node.op}{serial or ''}" for serial in count())
            node.name = next(name for name in candidates if name not in taken)
            taken.add(node.name)
        seen.add(node.name)
