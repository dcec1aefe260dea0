"""`edgec cache`, and what builds find in it: another build's package, byte by byte, and nothing of a key's passphrase."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

import edgec
from edgec.cache import opened
from edgec.pipeline.depends import draft_key, quantization_key
from edgec.pipeline.prepare import prepare
from edgec.settings.config import configure
from tests.calling import QUICK, Program

FOUND = "found in the cache"
FLOAT = ("build", "digits.onnx", "--precision", "fp32", *QUICK)


@pytest.fixture
def cache(work: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.delenv("EDGEC_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    return home / "edgec" / "build"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_it_is_shown_and_cleaned(cache: Path, program: Program) -> None:
    found = program("cache", "--json").json
    assert (found["folder"], found["entries"], found["bytes"], found["removed"]) == (str(cache), 0, 0, False)
    (cache / "entry").write_bytes(bytes(10))
    assert program("cache", "--json").json["bytes"] == 10
    assert program("cache", "clean", "--json").json["removed"] is True and not list(cache.iterdir())


def test_none_is_shown_where_it_is_off(cache: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEC_CACHE", "no")
    assert "the cache is off" in program("cache").out and not cache.exists()


def test_a_package_is_the_same_with_and_without_it(cache: Path, work: Path, program: Program) -> None:
    assert FOUND not in program(*FLOAT, "--no-cache", "-o", "plain").err and not cache.exists()
    assert FOUND not in program(*FLOAT, "-o", "first").err
    done = program(*FLOAT, "-o", "second")
    assert FOUND in done.err and "examining" in done.err
    assert contents(work / "plain") == contents(work / "first") == contents(work / "second")
    for entry in cache.iterdir():
        entry.write_bytes(entry.read_bytes()[:-1])
    done = program(*FLOAT, "--no-compile", "-o", "third")
    assert FOUND not in done.err and "was damaged" in done.err
    assert (
        contents(work / "third").items()
        <= {**contents(work / "plain"), "manifest.json": (work / "third/manifest.json").read_bytes()}.items()
    )


def test_a_setting_that_decides_no_scale_needs_no_new_calibration(cache: Path, work: Path, program: Program) -> None:
    words = (
        "build",
        "digits.onnx",
        "--calib",
        "calibration.npz",
        "--effort",
        "fast",
        "--samples",
        8,
        "--target",
        "portable",
        "--no-compile",
    )
    other = ("--seed", 1, "--io-layout", "nhwc")
    assert "ranges" in program(*words, "-o", "first").err
    done = program(*words, *other, "-o", "second")
    assert "ranges" not in done.err and FOUND not in done.err and "emitting" in done.err
    assert "ranges" in program(*words, *other, "--no-cache", "-o", "plain").err
    assert contents(work / "second") == contents(work / "plain") != contents(work / "first")
    keys = {quantization_key(work / "digits.onnx", configure(**settings)) for settings in ({}, {"observer": "minmax"}, {"seed": 1})}
    assert len(keys) == 2 and None not in keys


def test_what_is_found_is_signed_and_examined_anew(cache: Path, work: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    key, secret = Ed25519PrivateKey.generate(), b"correct horse"
    content = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(secret))
    (work / "key").write_bytes(content)
    (work / "key").chmod(0o600)
    monkeypatch.setenv("EDGEC_SIGN_PASSPHRASE", secret.decode())
    assert program(*FLOAT, "-o", "first", "--sign", "key").code == 0
    assert FOUND in program(*FLOAT, "-o", "second", "--sign", "key").err
    assert (work / "first/manifest.sig").read_bytes() == (work / "second/manifest.sig").read_bytes()
    entries = b"".join(contents(cache).values())
    assert entries and not [part for part in (secret, content, content[40:80], key.private_bytes_raw()) if part in entries]


def test_the_key_tells_all_apart_that_files_depend_on(cache: Path, work: Path) -> None:
    base = {"calib": "calibration.npz", "out": "out", "target": "portable", "compile": False}
    model = work / "digits.onnx"

    def key(file: Path = model, **settings: object) -> str | None:
        return draft_key(prepare(file, configure(**{**base, **settings})))

    samples = np.load(work / "calibration.npz")["image"][:4]
    np.save(work / "few.npy", samples)
    (work / "labels").write_text("\n".join("0123456789"))
    shutil.copy(model, work / "other.onnx")
    changed: list[dict[str, object]] = [
        {"target": "rpi4"}, {"precision": "fp32"}, {"calib": "few.npy"}, {"calib": samples}, {"calib": {"image": samples}}, {"samples": 3},
        {"seed": 1}, {"io": "int8"}, {"weights": "c"}, {"name": "other"}, {"observer": "minmax"}, {"exclude": ["a"]}, {"prune": 0.5},
        {"budget": "nodes=77"}, {"task": "classify"}, {"task": "classify", "labels": "labels"}, {"card": {"author": "a"}},
        {"output": ["a", "b"]}, {"output": ["b", "a"]}, {"file": work / "other.onnx"},
    ]  # fmt: skip
    keys = [key(), *(key(**settings) for settings in changed)]  # type: ignore[arg-type]
    assert None not in keys and len(set(keys)) == len(keys)
    assert key() == key(out="elsewhere") == key(compile=True) == key(cc="gcc -O1") == key(force=True) == keys[0]
    np.save(work / "few.npy", samples[:3])
    assert key(calib="few.npy") not in keys
    (work / "labels").write_text("\n".join("9876543210"))
    assert key(task="classify", labels="labels") not in keys


def test_what_changes_while_it_is_read_is_not_kept(cache: Path, work: Path) -> None:
    """An entry has the name of what was there before: the next build would take it for that."""
    samples = np.load(work / "calibration.npz")["image"]
    np.save(work / "few.npy", samples[:8])

    def build(out: str, **others: np.ndarray) -> set[str]:
        told = set()

        def progress(stage: str, done: int, total: int) -> None:
            told.add(stage)
            if stage == "reading the model" and done:  # the keys are told, the samples are not read
                for name, content in others.items():
                    np.save(work / f"{name}.npy", content)

        settings = {"calib": "few.npy", "effort": "fast", "target": "portable", "compile": False}
        edgec.build(work / "digits.onnx", out=out, progress=progress, **settings)
        return told

    build("first", few=samples[8:16])
    assert not list(cache.iterdir())
    assert "ranges" in build("second") and contents(work / "second") == contents(work / "first")
    next(cache.glob("draft-*")).unlink()
    assert "ranges" in build("third", few=samples[:8]), "what is kept is of other samples"
    assert contents(work / "third") != contents(work / "first") and len(list(cache.iterdir())) == 1


def test_decisions_that_do_not_fit_are_made_anew(cache: Path, work: Path) -> None:
    settings = {"calib": "calibration.npz", "samples": 8, "effort": "fast", "target": "portable", "compile": False}
    key = quantization_key(work / "digits.onnx", configure(**settings))
    assert key is not None
    opened().put(key, json.dumps({"calibration": {"format": "another"}, "report": {}}).encode())
    told = set()
    edgec.build(work / "digits.onnx", out="out", progress=lambda stage, done, total: told.add(stage), **settings)
    assert "ranges" in told


def test_only_pictures_of_a_folder_count(cache: Path, work: Path) -> None:
    folder = work / "pictures"
    folder.mkdir()
    (folder / "a.png").write_bytes(b"one")
    (folder / "beside").symlink_to("nowhere")

    def key() -> str | None:
        return draft_key(prepare(work / "digits.onnx", configure(calib="pictures", target="portable", compile=False)))

    before = key()
    (folder / "dataset.tar").write_bytes(b"large")
    assert before is not None and key() == before
    (folder / "b.png").write_bytes(b"two")
    assert key() not in (None, before)
    (folder / "c.png").symlink_to("nowhere")  # whether a build needs it is for the build to say
    assert key() is None


def test_arrays_of_all_types_are_told_apart(cache: Path, work: Path) -> None:
    def key(array: np.ndarray) -> str | None:
        return draft_key(prepare(work / "digits.onnx", configure(calib=array, target="portable", compile=False)))

    base = np.arange(8, dtype=np.uint8)
    arrays = [base, base[::-1], base.reshape(2, 4), base.reshape(2, 4).T, *(base.view(kind) for kind in ("i1", "<f2", ">f2"))]
    arrays += [base.view(kind) for kind in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)]
    keys = [key(array) for array in arrays]
    assert None not in keys and len(set(keys)) == len(keys) and key(base.copy()) == keys[0]
    assert key(np.array([{}], dtype=object)) is None


def test_what_depends_on_more_is_not_kept(cache: Path, work: Path) -> None:
    (work / "data.py").write_text("def samples(): ...")
    (work / "beside.onnx").write_bytes((work / "digits.onnx").read_bytes() + b"location")
    for file, settings in (
        ("digits.onnx", {"calib": "data.py:samples"}),
        ("digits.onnx", {"calib": list}),
        ("beside.onnx", {"precision": "fp32"}),
    ):
        assert draft_key(prepare(work / file, configure(target="portable", **settings))) is None
    assert draft_key(prepare(work / "digits.onnx", configure(precision="fp32", dump="stages"))) is None
