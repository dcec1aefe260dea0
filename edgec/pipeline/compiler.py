"""draft() as a paragraph of calls: the map of the compiler, and the only module that sees every room."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

from edgec.apps.app import App, Task
from edgec.apps.cpp import cpp_files
from edgec.apps.describe import Pictures, check_pictures, describe_app
from edgec.apps.find_task import Wanted, find_tasks
from edgec.apps.forms import add_form
from edgec.apps.single_file import single_files
from edgec.apps.tasks import add_task
from edgec.apps.wheel import wheel_files
from edgec.apps.wheel_archive import wheel_paths
from edgec.base.budget import spending
from edgec.base.errors import UsageError
from edgec.base.output import write_file
from edgec.base.stage import stage
from edgec.base.version import __version__
from edgec.cache import Store, opened
from edgec.emit import ExamData, emit_exam, emit_sources
from edgec.emit.constants import layout_constants
from edgec.emit.gpu.placement import place
from edgec.emit.gpu.vulkan import spirv_file, spirv_jobs
from edgec.exam.beyond import ask_halves, beyond_halves, notes_of
from edgec.exam.comparison import Comparison
from edgec.exam.expected import GPU_HALVES, HALVES, Asked, ask, doubts, invented_tolerance, is_coded, write_exam
from edgec.exam.fidelity import manifest_facts
from edgec.exam.measurement import read_measurement
from edgec.integer import match
from edgec.integer.text import dumps as dump_matched
from edgec.ir.graph import Graph
from edgec.lower import LowerOptions, lower
from edgec.lower.limits import check_limits
from edgec.lower.plan import plan
from edgec.package.card import card_of
from edgec.package.draft import Draft
from edgec.package.goal import goal_facts
from edgec.package.manifest import Content, Origin, options_hash
from edgec.package.parts import CodedWeights, Options, QuantizationStep, QuantizedValue
from edgec.package.parts import State as StateOption
from edgec.package.pruning import pruning_facts
from edgec.pipeline.depends import quantization_key
from edgec.pipeline.kept import entry
from edgec.pipeline.models import (
    NOT_KEPT,
    PRUNED,
    Model,
    Progress,
    about,
    code_model,
    compare_model,
    int8_model,
    prune_model,
    quantize_model,
    read_model,
    reference_of,
    samples_of,
)
from edgec.pipeline.prepare import Plan
from edgec.pipeline.shapes import Shaped, joined, read_shapes, with_numbers
from edgec.pipeline.tuned import RecordedChoices, read_tuned
from edgec.program.many_shapes import merged
from edgec.program.offload import Offload
from edgec.program.program import Program
from edgec.program.text import dumps as dump_program
from edgec.program.titles import titles
from edgec.provenance.model_card import model_card
from edgec.quant import Quantized
from edgec.quant.codes.weight_only import CodedGraph
from edgec.quant.decisions.calibration import fingerprint
from edgec.quant.given.preprocess import Preprocess
from edgec.schedule import schedule
from edgec.schedule.gpu.choice import Choice
from edgec.schedule.gpu.offload import offload
from edgec.schedule.halves import with_halves
from edgec.settings.config import BuildConfig
from edgec.targets import Target
from edgec.toolchain import compile_shaders


def draft(planned: Plan, store: Store, tell: Progress) -> dict[str, Content]:
    """Every file of the package of an ONNX file, but what a C compiler makes of them."""
    model, config, target = planned.model, planned.config, planned.target
    tuned = read_tuned(config.tuned, target)
    decided = entry(store, partial(quantization_key, model, config)) if config.precision == "int8" else NOT_KEPT
    with stage(tell, "reading the model"):
        loaded = read_model(model, config)
        others = read_shapes(model, config)
        _check_halves(loaded, config)
        check_pictures(loaded.original, _pictures(config))
        task, labels = _task([loaded, *(other for _, other in others)], config)
    if config.precision == "int8":
        lower(
            loaded.graph, target, loaded.name, budget=config.budget
        )  # what cannot be lowered is said before the calibration, not after it
    loaded = prune_model(loaded, config, tell)
    quantized = quantize_model(loaded, config, tell, decided) if config.precision == "int8" else None
    coded = code_model(loaded, config)
    graph = (quantized or coded or loaded).graph
    found = compare_model(loaded, quantized or coded, config, tell)
    shaped = [Shaped(config, loaded, graph), *with_numbers(others, quantized)]
    asked = [_asked(each.model, each.config, tell) for each in shaped]
    beyond = _beyond(shaped, asked, config)
    with stage(tell, "lowering"):
        programs = [_scheduled(each.graph, target, loaded.name, config, tuned, beyond) for each in shaped]
        program = _planned(programs, graph, target, config)
        choice = _choice(model, graph, program, target, config)
    with stage(tell, "writing the exam"):
        halves = _halves(config, choice)
        exam = joined([_exam(*each, coded is not None, halves, beyond) for each in zip(shaped, programs, asked, strict=True)])
    with stage(tell, "emitting"):
        origin = _origin(model, loaded, program, quantized, found, config)
        notes = (
            *origin.notes,
            *tuned.notes(programs, target),
            *(notes_of(graph, programs[0], asked[0], beyond) if config.precision == "fp16" else ()),
            *doubts(exam),
        )
        origin = replace(origin, notes=notes, coded_weights=_coded_facts(coded, config), tuned_sha256=tuned.sha256)
        made = emit_sources(
            program, target, config.weights, origin, _offload(program, target, choice), ["task"] if task else [], config.single_file
        )
        made = made.plus(emit_exam(program, target, exam))
        if target.gpu == "vulkan":
            made = made.plus(spirv_file(made, compile_shaders(spirv_jobs(made))))
        if quantized is not None:
            made = made.plus({"model.int8.onnx": int8_model(quantized), "calibration.json": json_bytes(quantized.calibration)})
        if loaded.pruning is not None:
            made = made.plus({PRUNED: loaded.pruning.content})
        if task is not None:
            made = add_task(made, program, task, labels)
        made = made.plus({"MODEL_CARD.md": model_card(made.manifest)})
        if config.single_file:
            made = made.plus(single_files(made))
        if not program.sizes or config.also_shape or target.form or config.wheel:
            made = _add_interfaces(
                made, describe_app(program, target, made.manifest, _pictures(config), task, labels), target, exam, config
            )
        return made.complete()


def untuned_program(planned: Plan, progress: Progress | None = None) -> Program:
    """The Program of the package that draft() makes without a tuning record, for those who look at its calls alone."""
    model, config, tell = planned.model, planned.config, progress or (lambda stage, done, total: None)
    decided = entry(opened(config.cache), partial(quantization_key, model, config)) if config.precision == "int8" else NOT_KEPT
    loaded = prune_model(read_model(model, config), config, tell)
    quantized = quantize_model(loaded, config, tell, decided) if config.precision == "int8" else None
    graph = (quantized or code_model(loaded, config) or loaded).graph
    shaped = Shaped(config, loaded, graph)
    beyond = _beyond([shaped], [_asked(loaded, config, tell)], config) if config.precision == "fp16" else frozenset[str]()
    return _scheduled(graph, planned.target, loaded.name, config, RecordedChoices(), beyond)


def _add_interfaces(draft: Draft, app: App, target: Target, exam: ExamData, config: BuildConfig) -> Draft:
    """With what applications take beside the C package: each form sees the files of those before it."""
    draft = add_form(target.form, app, draft.plus(cpp_files(app, draft.manifest.vocabularies)))
    if not config.wheel:
        return draft
    draft = draft.plus(wheel_files(app, exam, draft))
    return draft.plus({}, replace(draft.manifest, made=wheel_paths(target, draft.files)))


def _pictures(config: BuildConfig) -> Pictures | None:
    """What the settings say of pictures; None where they say nothing."""
    if not config.preprocess:
        return None
    return Pictures(Preprocess.parse(config.preprocess), config.fuse_preprocess, config.io_layout == "nhwc")


def _task(loaded: Sequence[Model], config: BuildConfig) -> tuple[Task | None, tuple[str, ...]]:
    """The task that the settings name, and its labels. loaded: the model in each set of shapes."""
    if config.task is None:
        return None, ()
    return find_tasks([model.original for model in loaded], Wanted(config.task, config.labels, config.io_layout == "nhwc"))


def json_bytes(value: object) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


def _scheduled(
    graph: Graph, target: Target, name: str, config: BuildConfig, tuned: RecordedChoices, beyond: frozenset[str]
) -> Program:  # fmt: skip
    with spending(config.budget):
        program = lower(graph, target, name, LowerOptions(io=config.io, io_layout=config.io_layout))
        if config.precision == "fp16":
            program = with_halves(program, {node.name for node in graph.nodes if beyond.intersection(node.outputs)})
        return schedule(program, target, tuned.by_layer)


def _planned(programs: Sequence[Program], graph: Graph, target: Target, config: BuildConfig) -> Program:
    """The Program for all sets of shapes. graph: of the first one."""
    program = merged(programs)
    plan(program)
    check_limits(program, target)
    if config.dump is not None:
        matched = dump_matched(graph, match(graph))
        for name, text in (("4-matched", matched), ("5-program", dump_program(program))):
            write_file(config.dump / f"{name}.eir", text.encode(), ".eir", force=config.force)
    return program


def _choice(model: Path, graph: Graph, program: Program, target: Target, config: BuildConfig) -> Choice:
    """What goes to the GPU of a target that has one, and as what; a Program with symbolic sizes keeps everything on the CPU."""
    if isinstance(config.gpu, str):
        choice = Choice(target.gpu_default if config.gpu == "auto" else config.gpu == "on")
    else:
        choice = Choice(measured=read_measurement(config.gpu, _sha256(model), target.name, config.precision, titles(program)))
    if config.gpu_precision != "float16" or program.sizes:
        return choice
    return replace(choice, precision="float16", tolerance=invented_tolerance(graph))


def _check_halves(loaded: Model, config: BuildConfig) -> None:
    if config.precision == "fp16" and is_coded(loaded.graph):
        what = "the model has codes in it, which halves do not hold"
        raise UsageError(what, where="--precision", hint="build with --precision fp32, or int8")


def _beyond(shaped: Sequence[Shaped], asked: Sequence[Asked | None], config: BuildConfig) -> frozenset[str]:
    """The values that stay float32 in fp16 packages, in whichever set of shapes."""
    if config.precision != "fp16":
        return frozenset()
    pairs = [(each.graph, one) for each, one in zip(shaped, asked, strict=True) if one is not None]
    return frozenset[str]().union(*(beyond_halves(graph, one) if one.beyond is None else one.beyond for graph, one in pairs))


def _halves(config: BuildConfig, choice: Choice) -> str:
    """The flag that asks for halves; none does otherwise."""
    return HALVES if config.precision == "fp16" else GPU_HALVES if choice.precision == "float16" else ""


def _offload(program: Program, target: Target, choice: Choice) -> Offload | None:
    """None for a target without a GPU."""
    if not target.gpu:
        return None
    layout_constants(program)  # halves lie behind the constants
    return offload(program, place(program, target), choice)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _asked(loaded: Model, config: BuildConfig, tell: Progress) -> Asked | None:
    """The float model's answers, where they are what a package is examined with: while no program lies beside it in memory."""
    if config.precision == "int8" or config.weight_bits is not None or is_coded(loaded.graph):
        return None
    with stage(tell, "asking the model"), about(loaded.file):
        samples, reference = samples_of(loaded.graph, config), reference_of(loaded, config)
        if config.precision != "fp16" or samples is not None:
            return ask(loaded.original, samples, config.seed, reference)
        return ask_halves(lambda reach: ask(loaded.original, None, config.seed, reference, reach), loaded.graph)


def _exam(
    shaped: Shaped, program: Program, asked: Asked | None, coded: bool, halves: str, beyond: frozenset[str]
) -> ExamData:  # fmt: skip
    """coded: whether the weights are codes, and the model is the one that has them."""
    model, config = shaped.model, shaped.config
    samples = samples_of(model.graph, config)
    with about(model.file):
        return write_exam(
            shaped.graph if coded else model.original, shaped.graph, program, samples, config.seed,
            channels_last=config.io_layout == "nhwc", asked=asked, halves=halves, beyond=beyond,
        )  # fmt: skip


def _coded_facts(coded: CodedGraph | None, config: BuildConfig) -> CodedWeights | None:
    if coded is None or config.weight_bits is None:
        return None
    return CodedWeights(config.weight_bits, coded.layers, coded.float_bytes, coded.bytes)


def _origin(
    path: Path, loaded: Model, program: Program, quantized: Quantized | None, found: Comparison | None, config: BuildConfig
) -> Origin:  # fmt: skip
    """What the manifest says of where the package came from."""
    kept = [port.name for port in (*program.inputs, *program.outputs) if config.io != "model" and port.dtype.value != config.io]
    notes = [*loaded.notes, *(f"{name} stays as the model has it: nothing quantizes it (--io {config.io})" for name in kept)]
    options = _options(config, loaded)
    return Origin(
        precision=config.precision,
        notes=(*notes, *(quantized.report.notes if quantized else [])),
        card=card_of(loaded.origin, config.card),
        model_sha256=_sha256(path),
        network_sha256=fingerprint(loaded.original),
        calibration_sha256=quantized.calibration.get("samples_sha256") if quantized else None,
        options_sha256=options_hash(options),
        options=options,
        versions={"edgec": __version__, "onnx": version("onnx"), "onnxruntime": version("onnxruntime"), "numpy": version("numpy")},
        quantization=tuple(QuantizedValue(**layer) for layer in quantized.report.layers) if quantized else (),
        **(manifest_facts(found) if found else {"sqnr_db": {}}),
        quantization_steps=tuple(QuantizationStep(**step) for step in quantized.report.steps) if quantized else (),
        goal=goal_facts(quantized.report.goal) if quantized else None,
        pruning=pruning_facts(loaded.pruning.report, loaded.pruning.samples_sha256) if loaded.pruning else None,
        package_version=config.package_version,
    )


def _options(config: BuildConfig, loaded: Model) -> Options:
    """What was chosen, without places on the disk of whoever built."""
    return Options(
        observer=config.observer,
        effort=config.effort,
        exclude=tuple(config.exclude),
        io=config.io,
        io_layout=config.io_layout,
        weights=config.weights,
        gpu=config.gpu if isinstance(config.gpu, str) else "measured",
        gpu_precision=config.gpu_precision,
        task=config.task,
        shape={name: tuple(extents) for name, extents in config.shape.items()},
        also_shape=tuple({name: tuple(extents) for name, extents in more.items()} for more in config.also_shape) or None,
        fuse_preprocess=config.fuse_preprocess,
        preprocess=config.preprocess,
        samples=config.samples,
        seed=config.seed,
        weight_bits=config.weight_bits,
        prune=config.prune,
        input={name: None if extents is None else tuple(extents) for name, extents in config.input.items()} or None,
        output=config.output or None,
        constant=dict(config.constant) or None,
        state={name: StateOption(*state) for name, state in config.state.items()} or None,
        operators=dict(loaded.operators) or None,
    )
