"""What a package with a GPU holds besides the CPU's: which calls run where, and what both kinds of hosts must know of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgec.emit.c_text import float_literal
from edgec.emit.gpu.dialect import Dialect, Glsl, Metal
from edgec.emit.gpu.shader import Shader
from edgec.emit.gpu.shaders import floats_are_exact, shaders_or_reasons
from edgec.emit.gpu.variants import FEATURES, VARIANTS
from edgec.ir.types import DType
from edgec.package.parts import Gpu, GpuCall, Measured
from edgec.program.halves import Halves
from edgec.program.offload import Offload
from edgec.program.program import Program
from edgec.program.regions import ALIGNMENT, Place, io_offsets, places
from edgec.program.views import views_of
from edgec.targets import Target

# of a package with a GPU, after those of every package
GPU_STATUSES = (
    ("NO_GPU", "there is no GPU, or no driver for it"),
    ("GPU_UNFIT", "the GPU lacks what the package needs, or its answers are wrong"),
    ("GPU_MEMORY", "the GPU has not enough memory"),
    ("GPU_LOST", "the GPU failed: stop it, and start it again"),
    ("GPU_TIMEOUT", "the GPU did not answer in time: stop it"),
    ("GPU_SHADER", "the GPU's driver refuses a shader"),
)
API_NAMES = {"vulkan": "Vulkan", "metal": "Metal"}
METAL_VARIANTS = [{"name": "metal"}, {"name": "simdgroups"}]  # as runtimes/metal/host.m has them
_DIALECTS: Mapping[str, type[Glsl] | type[Metal]] = {"vulkan": Glsl, "metal": Metal}
_HOST_BYTES, _HANDLE_BYTES = 8192, 32  # of a host's state, and for each shader; the compiler checks that they are enough
_KINDS = {
    DType.FLOAT16: "PORT_HALF", DType.BFLOAT16: "PORT_BFLOAT",
    DType.FLOAT32: "PORT_FLOAT", DType.FLOAT64: "PORT_DOUBLE", DType.BOOL: "PORT_BOOL",
    DType.INT8: "PORT_BYTES", DType.UINT8: "PORT_BYTES",
}  # fmt: skip


@dataclass(frozen=True)
class GpuPlan:
    """For each call its shader, or why it runs on the CPU; and what was chosen."""

    api: str  # vulkan or metal
    dialect: Dialect
    calls: tuple[Shader | str, ...]
    offload: Offload

    @property
    def shaders(self) -> list[Shader]:
        return [item for item in self.calls if isinstance(item, Shader)]


def render_shaders(program: Program, target: Target, offload: Offload) -> GpuPlan:
    """For a target with a GPU. The Program is planned, and its constants have addresses."""
    dialect = _DIALECTS[target.gpu](target.signed_activations, halves=offload.halves)
    found = shaders_or_reasons(program, target, dialect, offload.halves)
    calls = tuple(why or item for item, why in zip(found, offload.on_cpu, strict=True))
    return GpuPlan(target.gpu, dialect, calls, offload)


def gpu_context(program: Program, plan: GpuPlan | None, arena_bytes: int, weights_bytes: int) -> dict[str, object]:
    """What the templates of templates/package read of the GPU; the bytes are what tensors and weights take on the CPU."""
    if plan is None:
        return {"gpu": "", "offloads": False}
    numbers = {shader.call: number for number, shader in enumerate(plan.shaders)}
    halves, order = plan.offload.halves, plan.offload.order
    ends = dict(order.segments)
    where = places(program, halves) if plan.shaders else {}
    return {
        "gpu": plan.api,
        "offloads": bool(order.segments),
        "api_name": API_NAMES[plan.api],
        "forms": 2 if halves else 1,
        "features": FEATURES,
        "variants": [{"name": item.name, "needs": item.needs} for item in VARIANTS] if plan.api == "vulkan" else METAL_VARIANTS,
        "gpu_tolerance": float_literal(plan.offload.tolerance, ""),
        "gpu_bytes": _HOST_BYTES + _HANDLE_BYTES * len(plan.calls),
        "gpu_arena_bytes": max(arena_bytes, ALIGNMENT, halves.arena_start + halves.arena_bytes),
        "gpu_weights_bytes": max(weights_bytes, halves.weights_start + halves.weights_bytes),
        "half_weights": _half_weights(halves),
        "gpu_io_bytes": io_offsets(program)[""],
        "steps_of_cpu": len(plan.calls) - len(plan.shaders),
        "segment_end": [ends.get(call, 0) for call in range(len(plan.calls))],
        "segments": [{"first": first, "end": end, "shader": numbers[first]} for first, end in order.segments],
        "call_end": [call + 1 if call in numbers else 0 for call in range(len(plan.calls))],
        "calls_apart": [{"first": call, "end": call + 1, "shader": number} for call, number in numbers.items()],
        "shaders": [
            {
                "name": shader.name,
                "group": shader.group,
                "grid": shader.grid,
                "shared_bytes": shader.shared_bytes,
                "waits": int(shader.call in order.barriers),
                "views": [[_bound(view) for view in views.bindings] for views in views_of(program, shader.call, where, halves)],
            }
            for shader in plan.shaders
        ],
    }


def _bound(view: Place) -> dict[str, int]:
    """A binding is never empty: of what a shader does not use it has a word."""
    return {"offset": view.offset, "bytes": max(view.bytes, 4)}


def _half_weights(halves: Halves) -> list[dict[str, object]]:
    """Constants that share their bytes are converted once."""
    found = {item.address: item for item in halves.weights.values()}
    return [
        {"from": at, "to": halves.weights_start + at // 2, "count": item.count, "scale": float_literal(2.0**item.exponent)}
        for at, item in sorted(found.items())
    ]


def port_contexts(program: Program) -> dict[str, dict[str, object]]:
    """What the hosts know of each of the caller's tensors, by its buffer."""
    offsets, exact = io_offsets(program), floats_are_exact(program)
    return {
        port.buffer: {
            "io_offset": offsets[port.buffer],
            "element_bytes": port.dtype.bytes,
            "kind": _KINDS.get(port.dtype, "PORT_OTHER"),
            "exact": int(exact or not port.dtype.is_float),
        }
        for port in program.ports
    }


def describe_gpu(plan: GpuPlan) -> Gpu:
    """What the manifest says: for each call where it runs, and of its shader what a reader of results wants to know."""
    expected = plan.offload.expected
    return Gpu(
        plan.api,
        plan.offload.precision,
        tuple(tuple(segment) for segment in plan.offload.order.segments),
        tuple(sorted(plan.offload.order.barriers)),
        len(plan.shaders),
        tuple(_describe_call(item, why) for item, why in zip(plan.calls, plan.offload.chosen, strict=True)),
        None if expected is None else Measured(**vars(expected)),
    )


def _describe_call(item: Shader | str, why: str) -> GpuCall:
    if isinstance(item, str):
        return GpuCall("cpu", item)
    matrices = None if item.matrices is None else _describe_call(item.matrices, "")
    return GpuCall(
        "gpu", why or None, item.name, tuple(item.group), tuple(item.grid), item.shared_bytes, item.loads, item.macs, matrices
    )  # fmt: skip
