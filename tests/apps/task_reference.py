"""What the functions of a task should say, in plain numpy and without their cleverness."""

from __future__ import annotations

import numpy as np

from edgec.apps.app import Task

f32 = np.float32


def sigmoid(x: np.ndarray) -> np.ndarray:
    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(f32)


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x.astype(np.float64) - np.nanmax(x, axis=-1, keepdims=True))
    return (powers / np.nansum(powers, axis=-1, keepdims=True)).astype(f32)


ACTIVATIONS = {"none": lambda x: x, "sigmoid": sigmoid, "softmax": softmax}


def best_classes(answer: np.ndarray, task: Task, most: int) -> list[tuple[int, float]]:
    values = answer.ravel()
    order = sorted(range(values.size), key=lambda i: (np.isnan(values[i]), 0 if np.isnan(values[i]) else -values[i], i))
    scores = np.nan_to_num(ACTIVATIONS[task.activation](values), nan=0.0)
    return [(i, float(scores[i])) for i in order[:most]]


def anchors(task: Task, outputs: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Boxes [n, 4] as corners in pixels, not clipped, and scores [n, classes]."""
    first = outputs[0][0]
    activate = ACTIVATIONS[task.activation]
    if task.head == "ssd":
        size = np.array([task.width, task.height] * 2, f32)
        return outputs[1][0] * size, activate(first)[:, 1:]
    rows = first.T if task.head == "columns" else first
    places, scores = rows[:, :4], activate(rows[:, 4:])
    scores = scores if task.head == "columns" else scores[:, :1] * scores[:, 1:]
    if task.head == "yolox":
        cells = [(x, y, s) for s in (8, 16, 32) for y in range(-(-task.height // s)) for x in range(-(-task.width // s))]
        grid, stride = np.array(cells, f32)[:, :2], np.array(cells, f32)[:, 2:]
        places = np.concatenate([(places[:, :2] + grid) * stride, np.exp(places[:, 2:]) * stride], axis=1)
    half = places[:, 2:] * f32(0.5)
    return np.concatenate([places[:, :2] - half, places[:, :2] + half], axis=1), scores


def suppress(corners: np.ndarray, scores: np.ndarray, task: Task, least: float, overlap: float, most: int) -> np.ndarray:
    """Greedy suppression over every candidate, one after the other."""
    kept: list[tuple[np.ndarray, np.float32, int]] = []
    found = [(i, c) for i in range(len(scores)) for c in range(scores.shape[1]) if scores[i, c] > f32(least)]
    for i, c in sorted(found, key=lambda item: (-scores[item], item)):
        box = corners[i]
        if not (box[0] < box[2] and box[1] < box[3]):
            continue
        box = np.clip(box, f32(0), np.array([task.width, task.height] * 2, f32))
        if not (box[0] < box[2] and box[1] < box[3]):
            continue
        if len(kept) < most and not any(c == other and shares(box, place, overlap) for place, _, other in kept):
            kept.append((box, scores[i, c], c))
    return np.array([[*box, score, c] for box, score, c in kept], f32).reshape(-1, 6)


def shares(one: np.ndarray, other: np.ndarray, overlap: float) -> bool:
    across, down = (max(min(one[k + 2], other[k + 2]) - max(one[k], other[k]), f32(0)) for k in (0, 1))
    shared = across * down
    area = (one[2] - one[0]) * (one[3] - one[1]) + (other[2] - other[0]) * (other[3] - other[1])
    return bool(shared > f32(overlap) * (area - shared))


def mask_of(answer: np.ndarray, task: Task) -> np.ndarray:
    if task.head == "threshold":
        return (answer > (0.5 if task.activation == "none" else 0)).reshape(task.height, task.width).astype(np.uint8)
    if task.head == "numbers":
        return np.clip(answer, 0, 255).reshape(task.height, task.width).astype(np.uint8)
    planes = answer[0] if task.head == "nchw" else answer[0].transpose(2, 0, 1)
    return np.argmax(np.nan_to_num(planes, nan=-np.inf), axis=0).astype(np.uint8)
