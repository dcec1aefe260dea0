"""How long from a model to its first answer? `python benchmarks/newcomer.py MODEL [--calib DATA] [--only NAME ...] [--kotlin FOLDER]`

For each environment: `edgec build` as a user types it, what the application needs after it, and a small application from its start to the
answer that it prints, each a fresh process; seconds of every step as a table. The model's inputs are float32 (the applications give it
zeros); without --calib the build is fp32, which needs no data. All applications must find the same class, else the exit code is 1.

iOS: with Swift the application is one in Swift, elsewhere one in C over the Swift package's own C target. Android: the application runs on
this machine's JVM, with the library made for x86-64 emulators; --kotlin is a folder with the jars of the npm package kotlin-compiler, where
there is no kotlinc. The Raspberry Pi is QEMU here. What this machine lacks is said.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from edgec.apps.names import camel, legal

NAME = "newcomer"
KOTLIN_MAIN = "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"
C = """
#include "newcomer.h"
#include <stdio.h>
static unsigned char arena[NEWCOMER_ARENA_BYTES] __attribute__((aligned(NEWCOMER_ARENA_ALIGNMENT)));
INPUTS
static float answer[ELEMENTS];
int main(void) {
    newcomer_t model;
    int best = 0, status = newcomer_init(&model, arena, sizeof arena);
    if (status == NEWCOMER_OK) status = newcomer_run(&model, CALL);
    for (int i = 1; i < ELEMENTS; i++) if (answer[i] > answer[best]) best = i;
    printf("class %d\\n", best);
    return status;
}
"""
PYTHON = """
import numpy as np
from newcomer import Newcomer

with Newcomer() as model:
    found = model.run(*(np.zeros(port.shape, port.dtype) for port in Newcomer.inputs.values()))
print("class", getattr(found, next(iter(Newcomer.outputs))).argmax())
"""
WEB = """
import { Newcomer } from "./package/web/newcomer.mjs";

const model = await Newcomer.load();
const inputs = Object.fromEntries(Object.entries(Newcomer.inputs).map(([key, port]) => [key, new Float32Array(port.elements)]));
const answer = model.run(inputs)[Object.keys(Newcomer.outputs)[0]];
console.log("class", answer.indexOf(Math.max(...answer)));
"""
KOTLIN = """
import ai.edgec.newcomer.Newcomer

fun main() = Newcomer().use { model ->
    val answer = model.run(GIVEN).OUTPUT
    println("class ${answer.indices.maxBy { answer[it] }}")
}
"""


class Missing(Exception):
    """What this machine lacks for an environment."""


@dataclass
class Journey:
    """One newcomer in one environment: a folder of its own, and the seconds of each step."""

    model: Path
    calib: Path | None
    kotlin: Path | None
    folder: Path
    steps: dict[str, float] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, list[dict[str, object]]]:
        return dict(json.loads((self.folder / "package/manifest.json").read_text(encoding="utf-8")))

    def step(self, name: str, *command: object, **environment: str) -> str:
        """Run a command of the user's, in the folder; what it prints."""
        start = time.perf_counter()
        words = list(map(str, command))
        done = subprocess.run(words, cwd=self.folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
        self.steps[name] = self.steps.get(name, 0) + time.perf_counter() - start
        if done.returncode:
            raise SystemExit(f"{shlex.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def build(self, target: str, *more: str, **environment: str) -> None:
        data = ["--calib", self.calib.resolve()] if self.calib else ["--precision", "fp32"]
        command = [
            Path(sys.executable).with_name("edgec"),
            "build",
            "-q",
            "--target",
            target,
            "--name",
            NAME,
            "-o",
            "package",
            *data,
            *more,
        ]
        self.step("build", *command, self.model.resolve(), **environment)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")


def need(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise Missing(f"needs {', '.join(missing)}")


def in_c(journey: Journey, compiler: str, *flags: str) -> None:
    """app, of the package's C interface: zeros in, the best element of the first output out."""
    facts = journey.facts
    inputs = [f"static float input_{index}[{_elements(port)}];" for index, port in enumerate(facts["inputs"])]
    others = [f"static unsigned char other_{index}[8 * {_elements(port)}];" for index, port in enumerate(facts["outputs"][1:])]
    call = [f"input_{index}" for index in range(len(inputs))] + ["answer", *(f"(void *)other_{index}" for index in range(len(others)))]
    text = C.replace("INPUTS", "\n".join(inputs + others)).replace("CALL", ", ".join(call))
    journey.write("app.c", text.replace("ELEMENTS", str(_elements(facts["outputs"][0]))))
    journey.step("app", compiler, "-O2", *flags, "-Ipackage/include", "app.c", f"package/build/lib{NAME}.a", "-pthread", "-o", "app")


def _elements(port: dict[str, object]) -> int:
    count, shape = 1, port["shape"]
    assert isinstance(shape, list)
    for extent in shape:
        count *= int(extent)
    return count


def linux(journey: Journey) -> str:
    need("cc")
    journey.build("host")
    in_c(journey, "cc")
    return journey.step("first answer", "./app")


def pi(journey: Journey) -> str:
    need("aarch64-linux-gnu-gcc", "qemu-aarch64")
    journey.build("rpi4")
    in_c(journey, "aarch64-linux-gnu-gcc", "-static")
    return journey.step("first answer", "qemu-aarch64", "./app")


def python(journey: Journey) -> str:
    journey.build("host", "--wheel")
    (wheel,) = (journey.folder / "package/dist").glob("*.whl")
    journey.step("app", sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "-t", "site", wheel)
    journey.write("app.py", PYTHON)
    return journey.step("first answer", sys.executable, "app.py", PYTHONPATH="site")


def android(journey: Journey) -> str:
    """The AAR's classes and its library for emulators, on the JVM."""
    need("java")
    if not journey.kotlin:
        raise Missing("needs the jars of a Kotlin compiler: --kotlin FOLDER")
    jars, runtime = journey.kotlin.resolve(), journey.kotlin.resolve() / "kotlin-stdlib.jar"
    compiler = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", KOTLIN_MAIN, "-no-stdlib", "-no-reflect"]
    journey.build("android", EDGEC_KOTLINC=shlex.join([*compiler, "-cp", str(runtime)]))
    with zipfile.ZipFile(journey.folder / f"package/build/{NAME}.aar") as archive:
        archive.extractall(journey.folder / "aar")
    facts = journey.facts
    names = legal([str(port["name"]) for port in facts["outputs"]], "kotlin", camel, "output")
    given = ", ".join(f"FloatArray({_elements(port)})" for port in facts["inputs"])
    journey.write("App.kt", KOTLIN.replace("GIVEN", given).replace("OUTPUT", names[0]))
    paths = ["aar/classes.jar", str(runtime)]
    journey.step("app", *compiler, "-cp", os.pathsep.join(paths), "-d", "classes", "App.kt")
    return journey.step("first answer", "java", "-Djava.library.path=aar/jni/x86_64", "-cp", os.pathsep.join(["classes", *paths]), "AppKt")


def ios(journey: Journey) -> str:
    journey.build("ios")
    if shutil.which("swift"):
        journey.step("app", "swift", "build", "-q", "--package-path", "package")
    in_c(journey, "cc")
    return journey.step("first answer", "./app")


def web(journey: Journey) -> str:
    need("node")
    journey.build("wasm")
    journey.write("app.mjs", WEB)
    return journey.step("first answer", "node", "app.mjs")


ENVIRONMENTS: dict[str, tuple[str, Callable[[Journey], str]]] = {
    "linux": ("C on Linux", linux),
    "pi": ("C on a Raspberry Pi (QEMU)", pi),
    "python": ("Python wheel", python),
    "android": ("Android (Kotlin on a JVM)", android),
    "ios": ("iOS (its C, here)" if not shutil.which("swift") else "iOS (Swift and its C)", ios),
    "web": ("Web (Node)", web),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--calib", type=Path, default=None)
    parser.add_argument("--only", nargs="*", choices=ENVIRONMENTS, default=list(ENVIRONMENTS))
    parser.add_argument("--kotlin", type=Path, default=None)
    options = parser.parse_args()
    answers: set[str] = set()
    print(f"{'environment':<28}{'build':>9}{'app':>9}{'answer':>9}{'in all':>9}   seconds", flush=True)
    for key in options.only:
        title, travel = ENVIRONMENTS[key]
        with tempfile.TemporaryDirectory(prefix="edgec-newcomer-") as folder:
            journey = Journey(options.model, options.calib, options.kotlin, Path(folder))
            try:
                answer = travel(journey).strip()
            except Missing as missing:
                print(f"{title:<28}not here: {missing}")
                continue
        times = [journey.steps.get(step, 0.0) for step in ("build", "app", "first answer")]
        print(f"{title:<28}{''.join(f'{seconds:>9.2f}' for seconds in (*times, sum(times)))}   {answer}", flush=True)
        answers.add(answer)
    return int(len(answers) > 1)


if __name__ == "__main__":
    sys.exit(main())
