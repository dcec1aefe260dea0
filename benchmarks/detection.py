"""Mean average precision of an anchor-free detector over a folder of pictures with YOLO-format labels.

The network writes [1, cells, 5 + classes] rows (x, y, log w, log h in units of each level's stride, objectness, class scores), levels of
stride 8, 16 and 32 one after the other. Pictures are letterboxed to the top left over grey 114, in BGR order, 0..255.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

STRIDES = (8, 16, 32)
SCORE, OVERLAP, KEPT = 0.01, 0.65, 300
Detector = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Boxes:
    """Corners [n, 4] (left, top, right, bottom; pixels of the original picture), scores [n] and classes [n]."""

    corners: np.ndarray
    scores: np.ndarray
    classes: np.ndarray


def letterbox(picture: Image.Image, size: int) -> tuple[np.ndarray, float]:
    """float32 [1, 3, size, size] and the ratio that the picture was scaled by."""
    ratio = min(size / picture.width, size / picture.height)
    scaled = picture.convert("RGB").resize((int(picture.width * ratio), int(picture.height * ratio)), Image.Resampling.BILINEAR)
    canvas = np.full((size, size, 3), 114, np.uint8)
    canvas[: scaled.height, : scaled.width] = np.asarray(scaled)[:, :, ::-1]
    return np.ascontiguousarray(canvas.transpose(2, 0, 1)[None], np.float32), ratio


def decode(rows: np.ndarray, size: int, ratio: float) -> Boxes:
    """Rows of the network to boxes after suppression of what overlaps."""
    grids = [np.stack(np.meshgrid(np.arange(size // stride), np.arange(size // stride)), -1).reshape(-1, 2) for stride in STRIDES]
    strides = np.concatenate([np.full(len(grid), stride) for grid, stride in zip(grids, STRIDES, strict=True)])[:, None]
    centre = (rows[:, :2] + np.concatenate(grids)) * strides
    half = np.exp(rows[:, 2:4]) * strides / 2
    corners = np.concatenate([centre - half, centre + half], axis=1) / ratio
    scores = rows[:, 4:5] * rows[:, 5:]
    cell, classes = np.nonzero(scores > SCORE)
    return suppress(Boxes(corners[cell], scores[cell, classes], classes))


Decoder = Callable[[np.ndarray, int, float], Boxes]


def overlap(one: np.ndarray, many: np.ndarray) -> np.ndarray:
    """Intersection over union of one box with many."""
    low, high = np.maximum(one[:2], many[:, :2]), np.minimum(one[2:], many[:, 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=1)
    area = np.prod(one[2:] - one[:2]) + np.prod(many[:, 2:] - many[:, :2], axis=1)
    return shared / np.maximum(area - shared, 1e-9)


def suppress(boxes: Boxes) -> Boxes:
    """The best boxes of each class that overlap no better one."""
    order = np.argsort(-boxes.scores, kind="stable")
    kept: list[int] = []
    while order.size and len(kept) < KEPT:
        best, order = int(order[0]), order[1:]
        kept.append(best)
        rival = (boxes.classes[order] == boxes.classes[best]) & (overlap(boxes.corners[best], boxes.corners[order]) > OVERLAP)
        order = order[~rival]
    return Boxes(boxes.corners[kept], boxes.scores[kept], boxes.classes[kept])


def labelled(folder: Path) -> Iterator[tuple[Image.Image, np.ndarray]]:
    """Pictures with labels [n, 5]: class, left, top, right, bottom in pixels."""
    for path in sorted(folder.glob("*.jpg")):
        with Image.open(path) as picture:
            lines = [line.split() for line in path.with_suffix(".txt").read_text().splitlines() if line.strip()]
            table = np.array(lines, np.float64).reshape(-1, 5)
            centre, half = table[:, 1:3] * picture.size, table[:, 3:5] * picture.size / 2
            yield picture, np.concatenate([table[:, :1], centre - half, centre + half], axis=1)


def average_precision(hits: np.ndarray, wanted: int) -> float:
    """Area under precision over recall at 101 points, from hits (True/False) sorted by score."""
    found = np.cumsum(hits)
    recall, precision = found / wanted, found / np.arange(1, len(hits) + 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    place = np.searchsorted(recall, np.linspace(0, 1, 101), side="left")
    return float(np.mean([envelope[index] if index < len(envelope) else 0.0 for index in place]))


def match(found: Boxes, truth: np.ndarray, least: float) -> np.ndarray:
    """For each box, best first, whether it hits a label of its class that no better box has taken."""
    taken, hits = np.zeros(len(truth), bool), np.zeros(len(found.scores), bool)
    for index in range(len(found.scores)):
        shared = overlap(found.corners[index], truth[:, 1:]) * (truth[:, 0] == found.classes[index]) * ~taken
        if shared.size and shared.max() >= least:
            taken[int(shared.argmax())] = hits[index] = True
    return hits


def mean_average_precision(detector: Detector, folder: Path, size: int = 416, least: float = 0.5, decoder: Decoder = decode) -> float:
    """mAP at the overlap `least`, over the classes that the labels name. detector: float32 picture -> rows [1, cells, 5 + classes]."""
    scores: dict[int, list[np.ndarray]] = {}
    wanted: dict[int, int] = {}
    for picture, truth in labelled(folder):
        image, ratio = letterbox(picture, size)
        found = decoder(detector(image)[0].astype(np.float64), size, ratio)
        hits = match(found, truth, least)
        for kind in truth[:, 0].astype(int):
            wanted[kind] = wanted.get(kind, 0) + 1
        for kind in np.unique(found.classes):
            mine = found.classes == kind
            scores.setdefault(int(kind), []).append(np.stack([found.scores[mine], hits[mine]]))
    results = []
    for kind, count in wanted.items():
        pairs = np.concatenate(scores.get(kind, [np.zeros((2, 0))]), axis=1)
        results.append(average_precision(pairs[1, np.argsort(-pairs[0], kind="stable")] > 0, count))
    return float(np.mean(results))
