"""The parts of a manifest: what a package takes and gives, computes, keeps in memory, runs on a GPU, and was built with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from edgec.package.single_values import (
    Code,
    Count,
    ElementType,
    Extent,
    Flag,
    Hash,
    Identifier,
    Number,
    Numbers,
    Path,
    Plain,
    Scale,
    Seed,
    Shape,
    Text,
    Word,
    one_of,
)

FORMS = ("incbin", "c", "bin")  # of weights: linked by the assembler, as C, or a file to load


@dataclass(frozen=True)
class Port:
    """An input or output as C has it. Codes q stand for (q - zero_point) * scale where there is a scale.

    shape: the largest one. symbolic_shape: the same with the names of sizes that runs decide. shapes: all, where a run's size says which
    of several it has. shape_of: the output whose shape the
    numbers of this one are; its elements lie one behind the other, and zeros after them.
    """

    name: Text
    identifier: Identifier
    dtype: ElementType
    shape: Shape
    symbolic_shape: tuple[Extent, ...] | None = None
    shapes: tuple[Shape, ...] | None = None
    scale: Scale | None = None
    zero_point: Code | None = None
    shape_of: Text | None = None


@dataclass(frozen=True)
class Kept:
    """An input that is the output of the run before, at first `start`. places: where in the arena, in bytes; two where they take turns."""

    name: Text
    output: Text
    dtype: ElementType
    shape: Shape
    start: Number
    places: tuple[Count, ...]


@dataclass(frozen=True)
class Size:
    """What a run may choose."""

    minimum: Count
    maximum: Count


@dataclass(frozen=True)
class Call:
    """One kernel call of a run. name: its first ONNX node's, and of no other call. reads, writes: names of the memory that it touches.

    macs: of a whole run. within: the loops in whose turns it runs, outermost first.
    """

    name: Text
    kernel: Word
    nodes: tuple[Text, ...]
    macs: Count
    items: Count
    reads: tuple[Text, ...]
    writes: tuple[Text, ...]
    within: tuple[Text, ...] | None = None


@dataclass(frozen=True)
class Memory:
    """A buffer: where it lies, as program.Kind has it, and its address in the arena or among the weights."""

    name: Text
    kind: Annotated[str, one_of("input", "output", "arena", "constant")]
    dtype: ElementType
    bytes: Count
    address: Count | None = None


@dataclass(frozen=True)
class Weights:
    form: Annotated[str, one_of(*FORMS)]
    bytes: Count
    sha256: Hash


@dataclass(frozen=True)
class Arena:
    """bytes: the tensors and the scratch of one thread. live_bound_bytes: what no plan can do with less."""

    bytes: Count
    tensor_bytes: Count
    scratch_bytes_per_thread: Count
    live_bound_bytes: Count
    alignment: Count


@dataclass(frozen=True)
class GpuCall:
    """Where a call runs, and why; of its shader what a reader of results wants to know. matrices: the kernel that is taken instead on
    devices that multiply matrices."""

    on: Annotated[str, one_of("cpu", "gpu")]
    because: Text | None = None
    shader: Text | None = None
    group: tuple[Count, ...] | None = None
    grid: tuple[Count, ...] | None = None
    shared_bytes: Count | None = None
    loads: Count | None = None
    macs: Count | None = None
    matrices: GpuCall | None = None


@dataclass(frozen=True)
class Measured:
    """The bench by which calls were placed."""

    board: Text
    device: Text
    wait_us: Number
    cpu_us: Number
    expected_us: Number


@dataclass(frozen=True)
class Gpu:
    """segments: first and end of each run of calls that go to the GPU together. glsl: Vulkan's sources -> the variants of each."""

    api: Annotated[str, one_of("vulkan", "metal")]
    precision: Annotated[str, one_of("float32", "float16")]
    segments: tuple[tuple[Count, ...], ...]
    barriers: tuple[Count, ...]
    shaders: Count
    calls: tuple[GpuCall, ...]
    measured: Measured | None = None
    glsl: Mapping[Path, tuple[Word, ...]] | None = None


@dataclass(frozen=True)
class File:
    """A row of a list of files. executable: of what a compiler made; nothing else may be started."""

    bytes: Count
    sha256: Hash
    executable: Flag | None = None


@dataclass(frozen=True)
class State:
    """What an input is: the output of the run before, at first `start`."""

    output: Text
    start: Number


@dataclass(frozen=True)
class Options:
    """What was chosen for a build, without places on the disk of whoever built."""

    observer: Text | None
    exclude: tuple[Text, ...]
    io: Word
    io_layout: Word
    weights: Word
    gpu: Word
    gpu_precision: Word
    task: Word | None
    shape: Mapping[Text, Shape]
    fuse_preprocess: Flag
    preprocess: Mapping[Text, Plain]
    samples: Count | None
    seed: Seed
    weight_bits: Count | None = None
    prune: Number | None = None
    effort: Word | None = None
    input: Mapping[Text, Shape | None] | None = None
    output: tuple[Text, ...] | None = None
    also_shape: tuple[Mapping[Text, Shape], ...] | None = None
    constant: Mapping[Text, Numbers] | None = None
    state: Mapping[Text, State] | None = None
    operators: Mapping[Text, Hash] | None = None


@dataclass(frozen=True)
class QuantizedValue:
    """What one node computes: its range and parameters, and its signal-to-noise ratio in dB against the float model."""

    node: Text
    operator: Text
    value: Text
    low: Number
    high: Number
    scale: Number
    zero_point: Code
    sqnr: Number


@dataclass(frozen=True)
class CodedWeights:
    """What --weight-bits did: in how many layers, and the bytes of their weights as floats and as codes with their scales."""

    bits: Count
    layers: Count
    float_bytes: Count
    bytes: Count


@dataclass(frozen=True)
class QuantizationStep:
    """A step beyond plain min-max and the SQNR of the outputs in dB, on samples that it was not fitted to: without it, with it in all its

    places, and with it in those where it helped.
    """

    step: Text
    places: Count
    taken: Count
    before: Number
    everywhere: Number
    after: Number


@dataclass(frozen=True)
class TaskFacts:
    """What the answer means, as apps.app.Task has it."""

    kind: Word
    head: Word
    activation: Word
    outputs: tuple[Text, ...]
    classes: Count
    height: Count | None = None
    width: Count | None = None


@dataclass(frozen=True)
class Labels:
    """sha256: of the labels in UTF-8, each followed by a line feed."""

    count: Count
    sha256: Hash


@dataclass(frozen=True)
class SwiftNames:
    package: Word
    class_: Word


@dataclass(frozen=True)
class AndroidNames:
    package: Word
    class_: Word
    min_sdk: Count
