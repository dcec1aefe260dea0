"""Networks that are hard on purpose, and what `--max-drop` keeps of them: the layers that matter, and nothing else.

    python benchmarks/goals.py [--only outliers transformer] [--max-drop 0.003] [--seeds 3]

`outliers` is a chain of convolutions with Elu, behind which channels cannot be equalized: one channel of what the third one gives is LOUD
times as large as the others and read with weights as small, and the sixth one's weights for a channel that is always 0 are enormous.
`transformer` has blocks of attention: in the second one some of the numbers between its dense layers are LOUD times as large as the others
and read with small weights, as trained ones have them. So what INT8 ruins is known by construction. A sample is one of ten patterns with
noise; the head is trained by least squares on samples that nothing else sees.

ruined: the layers that read it. kept: what the goal keeps, and as what. drop: another best class than in float: of the judging samples with
all in int8; of these with one of the kept layers in int8 after all, the least; of samples that nothing was decided by, with what is kept.
Exits with 1 where what is kept is not what is ruined.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from itertools import product

import numpy as np
import onnxruntime
from drafts import Draft

from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.passes import optimize
from edgec.quant import Goal, QuantizeOptions, quantize
from edgec.quant.given.options import Samples
from edgec.quant.runs.float_run import Probe

CLASSES, LOUD = 10, 400.0
TRAINING, CALIBRATION, EVALUATION = 2000, 1200, 2000
CHANNELS, DEPTH, SIDE = 12, 8, 16
TOKENS, WIDTH, HEADS, BLOCKS, MASSIVE = 16, 48, 4, 3, 4


@dataclass(frozen=True)
class Row:
    network: str
    seed: int
    ruined: tuple[str, ...]
    kept: dict[str, str]
    before: float
    without: float
    after: float
    attempts: int


def outliers(draft: Draft) -> tuple[tuple[int, ...], str, list[str]]:
    """The shape of a sample, the features, and which layers read what INT8 ruins."""
    value, ruined = "x", []
    for place in range(DEPTH):
        inputs = CHANNELS if place else 3
        weights = draft.rng.standard_normal((CHANNELS, inputs, 3, 3)) * (2.5 / (9 * inputs)) ** 0.5
        bias = draft.rng.standard_normal(CHANNELS) * 0.1
        if place == 2:
            weights[5], bias[5] = weights[5] * LOUD, bias[5] * LOUD
        if place == 3:
            weights[:, 5] /= LOUD
        if place == 4:
            weights[0], bias[0] = 0, 0
        if place == 5:
            weights[:, 0] = LOUD
        stride = 2 if place in (1, 4) else 1
        value = draft.add("Conv", value, draft.constant(weights), draft.constant(bias), pads=[1] * 4, strides=[stride] * 2)
        ruined += [value] if place in (3, 5) else []
        value = draft.add("Elu", value)
    return (1, 3, SIDE, SIDE), draft.add("Flatten", value, axis=1), ruined


def transformer(draft: Draft) -> tuple[tuple[int, ...], str, list[str]]:
    value, ruined = "x", []
    for block in range(BLOCKS):
        value = draft.add("Add", value, draft.attended(draft.normalized(value, WIDTH), TOKENS, WIDTH, HEADS))
        up, down = draft.weights(WIDTH, 4 * WIDTH), draft.weights(4 * WIDTH, WIDTH)
        if block == 1:
            up[:, :MASSIVE] *= LOUD
            down *= 6
            down[:MASSIVE] *= 4 / LOUD
        hidden = draft.add("Gelu", draft.dense(draft.normalized(value, WIDTH), WIDTH, 4 * WIDTH, up))
        read = draft.dense(hidden, 4 * WIDTH, WIDTH, down)
        ruined += [draft.nodes[-2].name] if block == 1 else []
        value = draft.add("Add", value, read)
    return (1, TOKENS, WIDTH), draft.add("Flatten", draft.normalized(value, WIDTH), axis=1), ruined


NETWORKS: dict[str, Callable[[Draft], tuple[tuple[int, ...], str, list[str]]]] = {"outliers": outliers, "transformer": transformer}


def pictures(shape: tuple[int, ...], count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Patterns with noise, and which patterns they are. They differ by a tenth of what they have in common, and so do samples of one."""
    drawn = np.random.default_rng(99).standard_normal((CLASSES + 1, *shape))
    patterns = drawn[0] + 0.1 * drawn[1:]
    rng = np.random.default_rng(seed)
    labels = rng.integers(CLASSES, size=count)
    return (patterns[labels] + 0.1 * rng.standard_normal((count, *shape))).astype(np.float32), labels


def network(name: str, seed: int) -> tuple[Graph, tuple[int, ...], list[str]]:
    """Optimized, with a trained head; the shape of a sample; the layers that INT8 ruins."""
    draft = Draft(seed)
    shape, value, ruined = NETWORKS[name](draft)
    images, labels = pictures(shape, TRAINING, 1000 + seed)
    trunk = onnxruntime.InferenceSession(deepcopy(draft).model(shape, [1, None]).SerializeToString(), providers=["CPUExecutionProvider"])
    rows = np.concatenate([trunk.run(None, {"x": image})[0] for image in images]).astype(np.float64)
    middle, spread = rows.mean(0), rows.std(0).mean()
    rows = (rows - middle) / spread
    square = rows.T @ rows + 0.1 * len(rows) * np.eye(rows.shape[1])
    head = np.linalg.solve(square, rows.T @ (np.eye(CLASSES)[labels] - 1 / CLASSES)) / spread
    scores = draft.add("MatMul", value, draft.constant(head))
    draft.add("Add", scores, draft.constant(-middle @ head))
    graph = from_proto(draft.model(shape, [1, CLASSES])).graph
    optimize(graph)
    return graph, shape, ruined


def best(graph: Graph, samples: Samples) -> np.ndarray:
    probe = Probe(graph, graph.outputs)
    return np.array([probe(sample)[graph.outputs[0]].argmax() for sample in samples()])


def measure(name: str, seed: int, goal: Goal) -> Row:
    graph, shape, ruined = network(name, seed)

    def samples(count: int, start: int) -> Samples:
        images, _ = pictures(shape, count, start + seed)
        return lambda: ({"x": image} for image in images)

    done = quantize(graph, samples(CALIBRATION, 2000), QuantizeOptions(goal=goal))
    report, fresh = done.report.goal, samples(EVALUATION, 3000)
    assert report is not None
    after = float((best(done.graph, fresh) != best(graph, fresh)).mean())
    kept = {layer["node"]: layer["type"] for layer in report["kept"]}
    without = min((layer["drop"] for layer in report["kept"]), default=0.0)
    return Row(name, seed, tuple(ruined), kept, report["before"]["drop"], without, after, len(report["attempts"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--max-drop", type=float, default=0.003)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    right = True
    print("| network | seed | ruined | kept | drop in int8 | with one less | on others | tries |\n|---|---|---|---|---|---|---|---|")
    for name, seed in product(options.only, range(options.seeds)):
        row = measure(name, seed, Goal(max_drop=options.max_drop))
        right &= set(row.ruined) == row.kept.keys()
        kept = ", ".join(f"{node} {kind}" for node, kind in row.kept.items())
        shares = " | ".join(f"{share:.2%}" for share in (row.before, row.without, row.after))
        print(f"| {name} | {seed} | {', '.join(row.ruined)} | {kept} | {shares} | {row.attempts} |", flush=True)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
