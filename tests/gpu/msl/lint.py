"""What can be said of MSL text without Apple's compiler: clang parses it as C++ for OpenCL, which has the same address spaces, and the
rest of MSL's rules is checked in the text."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.conftest import require

MOST_THREADGROUP_BYTES = 32768
_STRICT = Path(__file__).parent / "strict"
_ATTRIBUTES = {
    "buffer", "threadgroup_position_in_grid", "thread_position_in_threadgroup", "thread_position_in_grid",
    "max_total_threads_per_threadgroup", "simdgroup_index_in_threadgroup", "thread_index_in_simdgroup", "simdgroups_per_threadgroup",
}  # fmt: skip
# clang's names of what MSL does not have either
_MISSING = (
    "cl_khr_fp64", "__opencl_c_fp64", "__opencl_c_generic_address_space", "__opencl_c_program_scope_global_variables", "__opencl_c_pipes",
    "__opencl_c_device_enqueue", "__opencl_c_read_write_images",
)  # fmt: skip
_EXTENSIONS = ",".join(f"-{name}" for name in _MISSING)
_FLAGS = (
    "-x", "clcpp", "-cl-std=clc++2021", "-target", "spir64", "-cl-no-stdinc", "-fsyntax-only", "-Xclang", f"-cl-ext={_EXTENSIONS}", "-Wall",
    "-Wextra", "-Wshadow", "-Werror", "-Wfloat-conversion", "-Wimplicit-int-float-conversion", "-Wdouble-promotion",
    "-Wno-unknown-attributes", "-Wno-unused-parameter", "-Wno-unused-function", "-Wno-unknown-pragmas",
)  # fmt: skip
_WORDS = {
    r"\bdouble\b": "MSL has no double",
    r"\b(?:virtual|new|delete|goto|throw|try|dynamic_cast|typeid|long long)\b": "MSL does not have this word",
    r"\[[&=]?\w*\]\s*\([^)]*\)\s*(?:->\s*\w+\s*)?\{": "MSL has no lambdas",
    r"\bstd::": "MSL has no standard C++ library",
    r"(?<![\w.])(?:\d+\.\d*|\.\d+|\d+(?=[eE][-+]?\d))(?:[eE][-+]?\d+)?(?![\w.])": "a double literal: write f after it",
    r"^static (?!inline)": "a global that is no function",
}
_FUNCTION = re.compile(r"^(?:\[\[[^]]*\]\]\s*)?(?:static inline|kernel) (?:\w+) (\w+)\([^{]*?\) \{([^\n]*\}$|.*?\n\})", re.S | re.M)


def complaints(source: str) -> list[str]:
    """What is wrong with a whole .metal file."""
    return [*parse(source), *lint(source)]


def parse(source: str) -> list[str]:
    """clang's complaints."""
    require("clang")
    done = subprocess.run(["clang", *_FLAGS, f"-I{_STRICT}", "-"], input=source, capture_output=True, text=True)
    return [line for line in done.stderr.splitlines() if "error:" in line] or ([done.stderr] if done.returncode else [])


def lint(source: str) -> list[str]:
    """What clang has nothing against."""
    text = re.sub(r"[ \t]*(?:/\*.*?\*/|//[^\n]*)", "", source, flags=re.S)
    found = [f"{why}: {match.group()}" for pattern, why in _WORDS.items() for match in re.finditer(pattern, text, re.M)]
    found += [f"include of {name}" for name in re.findall(r"#\s*include\s*(\S+)", text) if name != "<metal_stdlib>"]
    found += [f"unknown attribute {name}" for name in re.findall(r"\[\[\s*(\w+)", text) if name not in _ATTRIBUTES]
    names = [name for name, _ in _FUNCTION.findall(text) if f"kernel void {name}(" in text]
    if text.count("static inline") + text.count("kernel void") != len(_FUNCTION.findall(text)):
        found.append("a function that this lint does not see")
    found += [f"two kernels {name}" for name in sorted(set(names)) if names.count(name) > 1]
    for name, body in _FUNCTION.findall(text):
        arrays = re.findall(r"threadgroup (\w+) \w+\[(\d+)\]", body)
        if (
            sum(int(count) * {"float": 4, "int": 4, "uint": 4, "half": 2, "factor": 2}[kind] for kind, count in arrays)
            > MOST_THREADGROUP_BYTES
        ):
            found.append(f"{name} has too much threadgroup memory")
    return found + _recursions(text)


def _recursions(text: str) -> list[str]:
    """Functions that reach themselves; MSL forbids it."""
    bodies: dict[str, str] = {}
    for name, body in _FUNCTION.findall(text):
        bodies[name] = bodies.get(name, "") + body
    calls = {name: {other for other in bodies if re.search(rf"\b{other}\(", body)} for name, body in bodies.items()}
    reached = {name: set(direct) for name, direct in calls.items()}
    for _ in calls:
        reached = {name: others.union(*(calls[other] for other in others)) for name, others in reached.items()}
    return [f"{name} is recursive" for name, others in reached.items() if name in others]
