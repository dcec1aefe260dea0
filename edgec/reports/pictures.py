"""Pictures of times: how they are distributed, how they grow with threads, how they changed from run to run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgec.records.results import Latency
from edgec.reports.svg import Picture, Scale, Shape, dot, line, path, rectangle, scale, upright_whisker, whisker, words
from edgec.reports.words import digits, interval_text, plural, time_text

WIDTH, HEIGHT = 340, 160  # of a small picture, which a phone shows at its own size
LEFT, RIGHT, TOP, BOTTOM = 44, 332, 22, 136
MOST_SAMPLES = 20_000  # that a histogram looks at
MOST_BARS = 44
POINTS = 16  # runs of a history, threads of a sweep
BAR_WIDTH, BAR_HEIGHT = 110, 14


def ticks_text(ticks: Sequence[float]) -> list[str]:
    """Microseconds at an axis, all in the unit of the largest."""
    largest = max((abs(tick) for tick in ticks), default=0.0)
    size, unit = next(((size, unit) for size, unit in ((1e6, "s"), (1e3, "ms")) if largest >= size), (1.0, "µs"))
    return [f"{tick / size:.6g} {unit}" if index == len(ticks) - 1 else f"{tick / size:.6g}" for index, tick in enumerate(ticks)]


def bottom_axis(across: Scale, y: float, most: int = 4) -> list[Shape]:
    """A line with round times under it."""
    ticks = across.ticks(most)
    shapes = [line(across.start, y, across.end, y, "axis")]
    for tick, text in zip(ticks, ticks_text(ticks), strict=True):
        at = across.at(tick)
        anchor = "end" if at > across.end - 14 else "middle"
        shapes += [line(at, y, at, y + 4, "axis"), words(at, y + 17, text, "label", anchor)]
    return shapes


def left_axis(up: Scale, x: float, right: float, most: int = 4) -> list[Shape]:
    """Round times at the left, with faint lines across; the unit stands at the top one."""
    ticks = up.ticks(most)
    shapes = []
    for tick, text in zip(ticks, ticks_text(ticks), strict=True):
        at = up.at(tick)
        shapes += [line(x, at, right, at, "grid"), words(x - 5, at + 4, text.removesuffix(" µs").split()[0], "label", "end")]
    return [*shapes, words(2, 12, ticks_text(ticks)[-1].split()[-1] if ticks else "", "label")]


def histogram(latency: Latency, who: str) -> Picture:
    """The runs that were sampled, up to just above the 99th percentile, with the median's interval and the high percentiles."""
    samples = sorted(sample for sample in latency.samples_us[:MOST_SAMPLES] if sample > 0)
    marks = [("p50", latency.p50_us), ("p90", latency.p90_us), ("p99", latency.p99_us)]
    end = max([latency.p99_us, *samples[: max(1, math.ceil(len(samples) * 0.99))], latency.high_us])
    start = min([*samples[:1], latency.p50_us, latency.low_us])
    across = scale([start, end + 0.04 * (end - start)], 8, RIGHT)
    bars = _counts(samples, across)
    tallest = max(bars, default=1) or 1
    width = (across.end - across.start) / max(len(bars), 1)
    shapes = [rectangle(across.at(latency.low_us), TOP, across.at(latency.high_us) - across.at(latency.low_us), BOTTOM - TOP, "band")]
    for index, count in enumerate(bars):
        if count:
            height = max(1.0, count / tallest * (BOTTOM - TOP - 6))
            shapes.append(rectangle(across.start + index * width, BOTTOM - height, width - 0.6, height, "bar"))
    taken = -math.inf
    for name, value in marks:
        at = across.at(value)
        shapes.append(line(at, TOP - 4, at, BOTTOM, "mark" if name == "p50" else "mark dashed"))
        if at - taken > 24:
            shapes.append(words(min(max(at, 14), RIGHT - 8), TOP - 8, name, "label", "middle"))
            taken = at
    shapes += bottom_axis(across, BOTTOM)
    beyond = sum(sample > across.high for sample in samples)
    description = (
        f"{plural(len(samples), 'sampled run')}; p50 {time_text(latency.p50_us)}, 95 % interval "
        f"{interval_text(latency.low_us, latency.high_us)}, p99 {time_text(latency.p99_us)}; {beyond} slower than shown"
    )
    return Picture(WIDTH, HEIGHT, tuple(shapes), f"Distribution of the latency of {who}", description)


def _counts(samples: Sequence[float], across: Scale) -> list[int]:
    """How many samples fall in each of equal parts of the scale; the Freedman-Diaconis rule says how many parts."""
    if not samples:
        return []
    middle = samples[len(samples) * 3 // 4] - samples[len(samples) // 4]
    width = 2 * middle / len(samples) ** (1 / 3)
    extent = across.high - across.low
    parts = min(max(10, math.ceil(min(extent / width, MOST_BARS))), MOST_BARS) if width > 0 else MOST_BARS
    counts = [0] * parts
    for sample in samples:
        if sample <= across.high:
            counts[min(max(int((sample - across.low) / extent * parts), 0), parts - 1)] += 1
    return counts


def reach(latencies: Sequence[Latency]) -> float:
    """How far a scale must go for medians and intervals, but no interval makes the medians too small to see."""
    return min(max(latency.high_us for latency in latencies), 2 * max(latency.p50_us for latency in latencies))


def median_bar(latency: Latency, most: float) -> Picture:
    """The median as a bar on a scale that reaches to `most`, its interval as a whisker; what lies outside is cut at the edge."""
    across = scale([most], 0, BAR_WIDTH - 2, zero=True)
    bar = rectangle(0, 3, max(across.at(latency.p50_us), 1.0), BAR_HEIGHT - 6, "bar")
    return Picture(BAR_WIDTH, BAR_HEIGHT, (bar, *whisker(across.at(latency.low_us), across.at(latency.high_us), 7, "whisker")))


def share_bar(share: float, style: str) -> Picture:
    """A part of a whole, or of the largest."""
    width = min(max(share, 0.0), 1.0) * BAR_WIDTH
    return Picture(BAR_WIDTH, BAR_HEIGHT, (rectangle(0, 2, width, BAR_HEIGHT - 4, style),))


def ratio_picture(ratio: float, low: float, high: float, widest: float) -> Picture:
    """A ratio and its interval around 1, on a scale of logarithms that reaches to `widest` on both sides."""
    across = Scale(-widest, widest, 4, BAR_WIDTH - 4)
    ends = [across.at(logarithm(value)) for value in (low, high)]
    shapes = [line(BAR_WIDTH / 2, 0, BAR_WIDTH / 2, BAR_HEIGHT, "axis"), *whisker(ends[0], ends[1], 7, "whisker")]
    return Picture(BAR_WIDTH, BAR_HEIGHT, (*shapes, dot(across.at(logarithm(ratio)), 7, 3.5, "point")))


def logarithm(ratio: float) -> float:
    """Base 2; a ratio that makes no sense counts as an enormous one."""
    return math.log2(min(max(ratio, 1e-6), 1e6))


def threads_picture(latencies: Sequence[Latency], who: str) -> Picture:
    """Medians as bars, one for each number of threads and one for the GPU, with intervals and the gain over the first."""
    shown = sorted(latencies, key=lambda latency: (bool(latency.gpu), latency.threads))[:POINTS]
    up = scale([reach(shown), *(latency.p50_us for latency in shown)], BOTTOM, TOP, zero=True)
    step = (RIGHT - LEFT) / len(shown)
    width = min(46.0, step * 0.62)
    shapes = left_axis(up, LEFT, RIGHT)
    for index, latency in enumerate(shown):
        middle = LEFT + step * (index + 0.5)
        top = up.at(latency.p50_us)
        shapes.append(rectangle(middle - width / 2, top, width, BOTTOM - top, "bar", f"{time_text(latency.p50_us)}"))
        shapes += upright_whisker(middle, up.at(latency.low_us), up.at(latency.high_us), "whisker")
        gain = f"×{digits(shown[0].p50_us / latency.p50_us, 2)}" if latency.p50_us > 0 else ""
        shapes += [words(middle, up.at(latency.high_us) - 5, gain, "label strong", "middle")] if index else []
        shapes.append(words(middle, BOTTOM + 17, "GPU" if latency.gpu else str(latency.threads), "label", "middle"))
    shapes += [line(LEFT, BOTTOM, RIGHT, BOTTOM, "axis")]
    told = ", ".join(f"{'GPU' if latency.gpu else plural(latency.threads, 'thread')} {time_text(latency.p50_us)}" for latency in shown)
    return Picture(WIDTH, HEIGHT, tuple(shapes), f"Median latency of {who} by number of threads", told)


def history_picture(points: Sequence[tuple[str, Latency]], who: str) -> Picture:
    """Medians with their intervals, from the oldest run (named by its day) to the last."""
    shown = points[-POINTS:]
    ends = [end for _, latency in shown for end in (latency.low_us, latency.high_us, latency.p50_us)]
    up = scale(ends, BOTTOM - 6, TOP + 4, zero=min(ends) < 0.5 * max(ends))
    step = (RIGHT - LEFT) / len(shown)
    at = [(LEFT + step * (index + 0.5), up.at(latency.p50_us)) for index, (_, latency) in enumerate(shown)]
    shapes = [*left_axis(up, LEFT, RIGHT), line(LEFT, BOTTOM, RIGHT, BOTTOM, "axis"), path(at, "trend")]
    for (x, y), (name, latency) in zip(at, shown, strict=True):
        shapes += upright_whisker(x, up.at(latency.low_us), up.at(latency.high_us), "whisker")
        shapes.append(dot(x, y, 3.5, "point", f"{name}: {time_text(latency.p50_us, 4)}"))
    shapes += [words(at[0][0], BOTTOM + 17, shown[0][0], "label", "middle" if len(shown) < 5 else "start")]
    shapes += [words(at[-1][0], BOTTOM + 17, shown[-1][0], "label", "middle" if len(shown) < 5 else "end")] if len(shown) > 1 else []
    told = "; ".join(f"{name} {time_text(latency.p50_us, 4)}" for name, latency in shown)
    return Picture(WIDTH, HEIGHT, tuple(shapes), f"Median latency of {who} from run to run", told)
