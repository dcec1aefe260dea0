"""Python wheels: what pip and loaders read in them, and that what they install answers as the package does."""

from __future__ import annotations

import ast
import base64
import hashlib
import os
import shutil
import subprocess
import sys
import threading
from email.parser import Parser
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import numpy as np
import pytest
from PIL import Image

import edgec
from edgec.apps.wheel_archive import make_wheels, prove
from edgec.base.errors import ToolchainError, UsageError
from edgec.package import Package
from edgec.quant.given.preprocess import Preprocess
from edgec.targets import load_target
from edgec.toolchain import freestanding
from edgec.toolchain.elf import demands
from tests.apps.wheels import DIGITS, LABELS, PREPROCESS, digits, examined, imported, install, wheel_of
from tests.conftest import once, require
from tests.toolchain.elf import NEEDED, Elf

MACHINES = {"x86_64": "x86_64", "aarch64": "arm64-v8a", "armv7l": "armhf"}  # in tags -> ABI
IMAGES = np.load(DIGITS / "evaluation.npz")["image"][:8].reshape(-1, 1, 1, 8, 8).astype(np.float32)


@pytest.fixture
def package(shared: Path) -> Path:
    return once(shared / "wheels", digits) / "digits"


@pytest.fixture
def site(package: Path, shared: Path) -> Path:
    """Where the wheel for this machine is installed."""
    return once(shared / "wheel-site", lambda folder: install(wheel_of(package), folder))


@pytest.fixture
def module(site: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return imported("digits", site, monkeypatch)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_wheel_says_what_pip_reads(package: Path, machine: str) -> None:
    path = wheel_of(package, machine)
    name, version, *tag = path.stem.split("-")
    platforms = [f"{system}_{machine}" for system in ("manylinux_2_17", "manylinux2014", "musllinux_1_1")]
    made = Package(package).manifest.made or ()
    assert name == "digits" and tag == ["py3", "none", ".".join(platforms)] and f"dist/{path.name}" in made
    with ZipFile(path) as archive:
        held = {item.filename: archive.read(item) for item in archive.infolist()}
        assert {item.date_time for item in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    information = f"digits-{version}.dist-info"
    about = Parser().parsestr(held[f"{information}/METADATA"].decode())
    assert (about["Name"], about["Version"], about.get_all("Requires-Dist")) == ("digits", version, ["numpy>=1.20"])
    wheel = Parser().parsestr(held[f"{information}/WHEEL"].decode())
    assert wheel.get_all("Tag") == [f"py3-none-{platform}" for platform in platforms] and wheel["Root-Is-Purelib"] == "false"
    rows = [line.rsplit(",", 2) for line in held[f"{information}/RECORD"].decode().splitlines()]
    assert [row[0] for row in rows] == list(held) and rows[-1][1:] == ["", ""] and "digits/py.typed" in held
    for path_in, digest, size in rows[:-1]:
        hashed = base64.urlsafe_b64encode(hashlib.sha256(held[path_in]).digest()).rstrip(b"=").decode()
        assert (digest, size) == (f"sha256={hashed}", str(len(held[path_in])))


@pytest.mark.parametrize("machine", MACHINES)
def test_a_library_proves_its_tag(package: Path, machine: str) -> None:
    with ZipFile(wheel_of(package, machine)) as archive:
        library = archive.read("digits/libdigits.so")
    elf = Elf(library)
    assert not elf.values(NEEDED) and all(symbol.weak for symbol in elf.symbols if not symbol.defined)
    assert demands(library).none
    for other, abi in MACHINES.items():
        if other == machine:
            prove(abi, demands(library))
        else:
            with pytest.raises(ToolchainError, match="needs more than its wheel promises"):
                prove(abi, demands(library))


def test_a_library_that_needs_others_gets_no_such_tag(tmp_path: Path) -> None:
    require("gcc")
    command = ["gcc", "-shared", "-fPIC", "-Wl,--hash-style=both", "-x", "c", "-", "-o", str(tmp_path / "x.so")]
    subprocess.run(command, input='int puts(const char *); int f(void) { return puts(""); }', text=True, check=True)
    found = demands((tmp_path / "x.so").read_bytes())
    assert (found.libraries, found.versions, found.symbols) == (1, True, 1)
    with pytest.raises(ToolchainError, match="needs more"):
        prove("x86_64", found)
    with pytest.raises(ValueError, match="not a"):
        demands(b"\x7fELF\x02\x01" + bytes(60))


def test_wheels_are_made_alike_each_time(package: Path) -> None:
    paths = [path for path in Package(package).manifest.files if path.startswith("python/")]
    files = {path: (package / path).read_bytes() for path in [*paths, "manifest.json"]}
    before = wheel_of(package).read_bytes()
    sources = {path: (package / path).read_bytes() for path in Package(package).manifest.files}
    (wheel,) = make_wheels(package, load_target("x86-64"), sources | files, optimize="-O0")
    assert wheel == wheel_of(package) and wheel.read_bytes() == before


def test_pip_installs_it_and_the_exam_passes(package: Path, tmp_path: Path) -> None:
    install(wheel_of(package), tmp_path)
    status, facts = examined(folder=tmp_path)
    assert status == 0 and facts["passed"] and len(facts["vectors"]) == 3 and facts["runs"] >= 3 and facts["p50_us"] > 0
    expected = [[output["sha256"] for output in vector["outputs"]] for vector in Package(package).examine()["vectors"]]
    assert [[output["sha256"] for output in vector["outputs"]] for vector in facts["vectors"]] == expected
    library = tmp_path / "digits" / "libdigits.so"
    weights, content = (package / "src" / "digits_weights.bin").read_bytes(), bytearray(library.read_bytes())
    content[content.index(weights[1000:1064])] ^= 1
    library.write_bytes(content)
    status, facts = examined(folder=tmp_path)
    assert status == 1 and not facts["weights_passed"] and not facts["passed"]


def test_it_answers_as_the_package_does(package: Path, module: ModuleType) -> None:
    with Package(package).load() as plain, module.Digits() as one, module.Digits(threads=3) as three:
        assert (one.threads, three.threads) == (1, 3), "the process has POSIX threads"
        for image in IMAGES:
            expected = plain(image)[0].tobytes()
            assert one.run(image=image).logits.tobytes() == three(image).logits.tobytes() == expected


def test_classes_have_their_names(module: ModuleType) -> None:
    truth = np.load(DIGITS / "evaluation.npz")
    labels = truth[next(name for name in truth.files if name != "image")][: len(IMAGES)]
    with module.Digits() as model:
        found = [model.classify(image, most=3) for image in IMAGES]
        assert len(model.classify(IMAGES[0], most=99)) == 10 and model.labels == tuple(LABELS)
    assert [best[0].index for best in found] == [int(label) for label in labels]
    assert all(item.label == LABELS[item.index] for best in found for item in best)
    assert all([item.score for item in best] == sorted((item.score for item in best), reverse=True) for best in found)


def test_pictures_become_what_calibration_made_of_them(module: ModuleType) -> None:
    how, generator = Preprocess.parse(PREPROCESS), np.random.default_rng(3)
    for shape in ((8, 8), (30, 40), (9, 5, 1), (20, 33, 3), (64, 20, 4)):
        pixels = generator.integers(0, 256, shape).astype(np.uint8)
        expected = how.apply(pixels[..., :3] if pixels.ndim == 3 else pixels, (1, 1, 8, 8))
        step = np.float32(16 / 255) * 1.001
        for picture in (pixels, np.flipud(np.flipud(pixels)), Image.fromarray(np.squeeze(pixels))):
            assert np.abs(module.Digits.from_picture(picture) - expected).max() <= step, "one level of a pixel at most"
    with module.Digits() as model:
        assert model.classify(pixels) == model.classify(model.from_picture(pixels))


def test_wrong_inputs_are_errors_that_name_them(module: ModuleType) -> None:
    good, wrong = IMAGES[0], "image must be a numpy array of float32"
    bad = {
        "list": (good.tolist(), TypeError, wrong),
        "nothing": (None, TypeError, wrong),
        "type": (good.astype(np.float64), TypeError, wrong),
        "order of bytes": (good.astype(">f4"), TypeError, wrong),
        "shape": (np.zeros((1, 1, 8, 9), np.float32), ValueError, wrong),
        "batch": (np.zeros((2, 1, 8, 8), np.float32), ValueError, wrong),
        "floats as a picture": (good[0], TypeError, "a picture for image must be of uint8"),
        "two colours": (np.zeros((5, 5, 2), np.uint8), ValueError, "a picture for image must have 1, 3 or 4 values"),
        "no pixels": (np.zeros((0, 5, 3), np.uint8), ValueError, "takes no picture of 5 x 0"),
    }
    with module.Digits() as model:
        for given, error, words in bad.values():
            with pytest.raises(error, match=words):
                model.run(given)
        for most, error in ((0, ValueError), (1.5, TypeError), (True, TypeError)):
            with pytest.raises(error, match="most must be"):
                model.classify(good, most=most)
        wide = np.zeros((1, 1, 8, 16), np.float32)
        wide[..., ::2] = good
        unaligned = np.frombuffer(b"x" + good.tobytes(), np.uint8)[1:].view(np.float32).reshape(good.shape)
        expected = model(good).logits.tobytes()
        assert model(wide[..., ::2]).logits.tobytes() == model(unaligned).logits.tobytes() == expected
    for threads, error in ((0, ValueError), (5000, ValueError), ("2", TypeError)):
        with pytest.raises(error, match="threads must be"):
            module.Digits(threads)
    with pytest.raises(module.ModelError, match="set of instructions") as caught:
        module.Digits(isa="avx9000")
    assert caught.value.status == 6


def test_a_closed_model_is_an_error_and_no_thread_stays(module: ModuleType) -> None:
    before = len(os.listdir("/proc/self/task"))
    model = module.Digits(4)
    assert len(os.listdir("/proc/self/task")) == before + 3
    model.close()
    model.close()
    for use in (lambda: model.run(IMAGES[0]), lambda: model.classify(IMAGES[0]), lambda: model.isa, lambda: model.threads, model.weights):
        with pytest.raises(RuntimeError, match="the model is closed"):
            use()
    module.Digits(4)
    assert len(os.listdir("/proc/self/task")) == before, "forgotten models end their threads too"


def test_a_model_that_is_in_use_ends_with_its_program(site: Path) -> None:
    code = """
import threading, time, numpy as np, digits
model, image = digits.Digits(3), np.zeros((1, 1, 8, 8), np.float32)
def forever():
    while True:
        model(image)
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.05)
"""
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(site)}, timeout=60, check=False)
    assert done.returncode == 0


def test_threads_take_turns(module: ModuleType) -> None:
    answers: dict[int, set[bytes]] = {index: set() for index in range(4)}
    with module.Digits(2) as model:

        def ask(index: int) -> None:
            answers[index].update(model(IMAGES[index]).logits.tobytes() for _ in range(50))

        users = [threading.Thread(target=ask, args=(index,)) for index in answers]
        for user in users:
            user.start()
        for user in users:
            user.join()
        assert answers == {index: {model(IMAGES[index]).logits.tobytes()} for index in answers}


def test_a_process_that_divides_leaves_its_model_alone(site: Path) -> None:
    code = """
import os, numpy as np, digits
model, image = digits.Digits(3), np.zeros((1, 1, 8, 8), np.float32)
model(image)
child = os.fork()
if child == 0:
    try:
        model(image)
    except RuntimeError as error:
        own = digits.Digits(2)
        own(image)
        print(error, flush=True)
else:
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), model(image).logits.shape)
"""
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True, text=True,
                          timeout=60, check=False)  # fmt: skip
    assert done.stdout.split("\n") == ["the model belongs to the process that made it: make another one here", "0 (1, 10)", ""], done.stderr


def test_the_module_is_python_of_old_boards_too(package: Path) -> None:
    for path in (package / "python" / "digits").glob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))


REFUSED = {"wasm": {}, "android": {}, "linux-riscv64": {}, "host": {"weights": "bin"}, "portable": {"compile": False}}


@pytest.mark.parametrize("target", REFUSED)
def test_what_has_no_wheel_is_refused_before_the_work(target: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        edgec.build(DIGITS / "digits.onnx", target=target, out=tmp_path / "out", wheel=True, precision="fp32", **REFUSED[target])
    assert "wheel" in str(caught.value) and not (tmp_path / "out").exists()


def test_a_processor_without_a_compiler_is_named_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """gcc for this machine alone."""
    (tmp_path / "gcc").symlink_to(shutil.which("gcc") or "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(freestanding, "find_spec", lambda name: None)
    with pytest.raises(ToolchainError, match="no compiler for shared libraries of"):
        edgec.build(DIGITS / "digits.onnx", target="universal", out=tmp_path / "out", wheel=True, precision="fp32", cc="gcc")
