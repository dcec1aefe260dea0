"""`edgec build --sign` and `edgec verify`: whatever is changed in a package is found, and who signed it is known."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import edgec
from edgec.base.codec import encode
from edgec.base.errors import GateError, UsageError
from edgec.base.output import complete_directory
from edgec.cli.verbs import parse
from edgec.provenance.signature import sign
from edgec.provenance.signing_keys import read_private_key
from tests.apps.signers import keys_in
from tests.calling import DIGITS, Program

CARD = {"license": "Apache-2.0", "author": "Ada | <b>B</b>", "limitations": "None of\nthem *known*."}
HOSTILE = {"model_author": "somebody else", "citation": "\u202eevil\x07 ](http://x) | <script>", "Unknown": "x", "url": "u" * 5000}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """keys, and a signed package of the example model, whose file says strange things of itself; for reading only."""
    folder = tmp_path_factory.mktemp("signed")
    keys_in(folder)
    model = onnx.load(DIGITS / "digits.onnx")
    model.producer_name, model.producer_version, model.model_version = "lab", "2.0", 7
    onnx.helper.set_model_props(model, HOSTILE)
    onnx.save(model, folder / "digits.onnx")
    build(folder, sign=folder / "key")
    return folder


def build(folder: Path, **settings: Any) -> edgec.Package:
    calib = {"image": np.load(DIGITS / "calibration.npz")["image"][:4]}
    settings = {"target": "portable", "cc": "gcc -O0", "observer": "minmax", "card": CARD} | settings
    return edgec.build(folder / "digits.onnx", calib=calib, out=folder / "digits", **settings)


@pytest.fixture
def package(made: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(made / "digits", tmp_path / "copy", symlinks=True))


@pytest.fixture
def unsigned(package: Path) -> Path:
    """Whoever changes a list takes the signature away."""
    (package / "manifest.sig").unlink()
    return package


def problems(package: Path, key: Path | None = None) -> dict[str, str]:
    """What is wrong, by where; nothing when the package is verified."""
    try:
        edgec.verify(package, key=key)
    except GateError as error:
        assert error.exit_code == 1 and error.problems
        return {item.where: item.what for item in error.problems}
    return {}


def edit(package: Path, change: Callable[[dict[str, Any]], object], name: str = "manifest.json") -> None:
    facts = json.loads((package / name).read_text())
    change(facts)
    (package / name).write_text(json.dumps(facts))


def test_a_signed_package_is_verified(made: Path, program: Program) -> None:
    found = edgec.verify(made / "digits", key=made / "key.pub")
    assert found.trusted and found.files == len(edgec.Package(made / "digits").manifest.files) and found.compiled > 5
    done = program("verify", made / "digits", "--key", made / "key.pub", "--json")
    assert done.code == 0 and done.json["verified"] and done.json["trusted"] and done.json["signer"] == found.signer
    assert found.public_key == " ".join((made / "key.pub").read_text().split()[:2])
    unknown = program("verify", made / "digits")
    assert unknown.code == 0 and "unknown key" in unknown.out and found.signer in unknown.out


def test_the_manifest_has_the_hashes_of_all_that_went_in(made: Path) -> None:
    manifest = edgec.Package(made / "digits").manifest
    assert manifest.model_sha256 == sha256((made / "digits.onnx").read_bytes())
    assert manifest.options_sha256 == sha256(json.dumps(encode(manifest.options), sort_keys=True).encode())
    images = np.load(DIGITS / "calibration.npz")["image"][:4]
    assert images.dtype == np.float32
    rows = [f"'image' float32 {','.join(map(str, (1, *image.shape)))}\n".encode() + image.astype("<f4").tobytes() for image in images]
    assert manifest.calibration_sha256 == sha256(b"".join(bytes.fromhex(sha256(row)) for row in rows))
    calibration = json.loads((made / "digits/calibration.json").read_text())
    assert calibration["samples_sha256"] == manifest.calibration_sha256


def sha256(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


EACH_KIND = (
    "include/digits.h", "src/digits.c", "src/digits_weights.bin", "src/digits_kernels_portable.c", "exam/digits_vectors.c", "Makefile",
    "CMakeLists.txt", "MODEL_CARD.md", "model.int8.onnx", "calibration.json", "build/libdigits.a", "build/libdigits.so",
    "build/digits_exam", "build/digits.o",
)  # fmt: skip


def test_one_flipped_bit_is_found_in_any_file(package: Path, made: Path) -> None:
    for path in EACH_KIND:
        content = (package / path).read_bytes()
        (package / path).write_bytes(content[:-2] + bytes([content[-2] ^ 4]) + content[-1:])
        assert problems(package, made / "key.pub") == {path: "was changed"}, path
        (package / path).write_bytes(content)
    assert problems(package, made / "key.pub") == {}


@pytest.mark.parametrize("name", ["manifest.json", "build.json", "manifest.sig"])
def test_one_flipped_bit_is_found_anywhere_in_the_lists(package: Path, made: Path, name: str) -> None:
    content = (package / name).read_bytes()
    for place in range(1, len(content), max(1, len(content) // 40)):
        (package / name).write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            assert problems(package, made / "key.pub"), place
        except UsageError:
            assert name == "manifest.json"


def test_everything_that_is_wrong_is_said_at_once(package: Path, made: Path, program: Program) -> None:
    (package / "src/digits.c").unlink()
    (package / "src/extra.c").write_text("int main(void) { return 0; }")
    (package / "GNUmakefile").write_text("all:; echo owned")
    (package / ".hidden").mkdir()
    (package / ".hidden/\u2028\x1b[31m.c").write_text("")
    with (package / "include/digits.h").open("a") as stream:
        stream.write("\n")
    found = problems(package, made / "key.pub")
    assert set(found) == {"src/digits.c", "src/extra.c", "GNUmakefile", ".hidden/\\u2028\\x1b[31m.c", "include/digits.h"}
    done = program("verify", package, "--json")
    assert done.code == 1 and len(done.json["problems"]) == 5 and done.json["exit_code"] == 1
    program("verify", package).failed(1, "5 problems", "src/extra.c: is no part of the package", "src/digits.c: is missing")


def test_links_and_pipes_are_refused_even_where_they_lead_to_the_same_bytes(package: Path, tmp_path: Path) -> None:
    shutil.move(package / "src/digits.c", tmp_path / "digits.c")
    (package / "src/digits.c").symlink_to(tmp_path / "digits.c")
    shutil.move(package / "include", tmp_path / "include")
    (package / "include").symlink_to(tmp_path / "include")
    (package / "Makefile").unlink()
    os.mkfifo(package / "Makefile")
    found = problems(package)
    assert found["src/digits.c"] == "is a link" and found["Makefile"] == "is no regular file"
    assert found["include"] == "is no part of the package" and found["include/digits.h"] == "is missing"
    shutil.move(package / "manifest.sig", tmp_path / "manifest.sig")
    (package / "manifest.sig").symlink_to(tmp_path / "manifest.sig")
    assert problems(package)["manifest.sig"] == "is a link"


def test_permissions_and_folders_are_looked_at_too(package: Path, made: Path) -> None:
    changes: dict[str, tuple[str, int]] = {
        "build/digits_exam": ("has special bits (mode 4755)", 0o4755),
        "build/libdigits.so": ("has special bits (mode 2755)", 0o2755),
        "src/digits.c": ("can be started as a program (mode 0755)", 0o755),
        "Makefile": ("anybody may change it (mode 0666)", 0o666),
        "manifest.json": ("anybody may change it (mode 0646)", 0o646),
        "include": ("anybody may change it (mode 0777)", 0o777),
        ".": ("anybody may change it (mode 1777)", 0o1777),
    }
    for path, (_, mode) in changes.items():
        (package / path).chmod(mode)
    (package / "src/empty/inner").mkdir(parents=True)
    expected = {path: words for path, (words, _) in changes.items()}
    expected["."] = "has special bits (mode 1777)"
    assert problems(package, made / "key.pub") == expected | {"src/empty/inner": "is no part of the package"}


def test_what_was_compiled_may_lose_the_right_to_start(package: Path, made: Path) -> None:
    (package / "build/digits_exam").chmod(0o644)
    (package / "include").chmod(0o2755)  # a folder that hands its group on
    assert problems(package, made / "key.pub") == {}


def test_a_changed_package_with_lists_that_fit_needs_the_key_to_be_found(unsigned: Path, made: Path) -> None:
    content = b"#error owned\n"
    (unsigned / "src/digits.c").write_bytes(content)
    edit(unsigned, lambda facts: facts["files"].update({"src/digits.c": {"bytes": len(content), "sha256": sha256(content)}}))
    assert problems(unsigned) == {}, "nobody signed it, and it says so"
    assert problems(unsigned, made / "key.pub") == {"manifest.sig": "the package is not signed"}
    texts = {name: (unsigned / name).read_bytes() for name in ("manifest.json", "build.json")}
    (unsigned / "manifest.sig").write_bytes(sign(texts, read_private_key(made / "other")))
    assert problems(unsigned) == {} and not edgec.verify(unsigned).trusted
    assert "signed by another key" in problems(unsigned, made / "key.pub")["manifest.sig"]
    shutil.copy(made / "digits/manifest.sig", unsigned)
    assert problems(unsigned, made / "key.pub") == {"manifest.json": "is not what was signed"}


def test_lists_cannot_be_left_out_of_a_signature(package: Path, made: Path) -> None:
    manifest = {"manifest.json": (package / "manifest.json").read_bytes()}
    (package / "manifest.sig").write_bytes(sign(manifest, read_private_key(made / "key")))
    assert problems(package, made / "key.pub") == {"build.json": "is not what was signed"}
    shutil.copy(made / "digits/manifest.sig", package)
    (package / "build.json").unlink()
    found = problems(package, made / "key.pub")
    assert found["build.json"] == "is signed, but missing" and found["build/libdigits.a"] == "is no part of the package"


def garbage(text: bytes) -> Iterator[bytes]:
    lines = text.splitlines(keepends=True)
    yield from (b"", b"\x00" * 300, b"-" * 100_000, text[:-1], text + b"\n", text[: len(text) // 2], text.replace(b"\n", b"\r\n"))
    yield from (b"".join(lines[1:]), b"".join(lines[:3] + lines[-1:]), b"".join([*lines[:4], lines[3], *lines[5:]]))
    yield from (text.replace(b"ed25519\npublic", b"none\npublic"), text.replace(b"AAAAC3", b"AAAAC4"), text.replace(b"sha256", b"md5"))
    yield b"".join(lines[:-1]) + b"signature: " + b"A" * 86 + b"==\n"


def test_what_is_no_signature_is_refused(package: Path) -> None:
    for text in garbage((package / "manifest.sig").read_bytes()):
        (package / "manifest.sig").write_bytes(text)
        assert "manifest.sig" in problems(package), text[:80]


FILES = {
    "../escape.c": {"bytes": 1, "sha256": "0" * 64}, "/etc/passwd": {"bytes": 1, "sha256": "0" * 64}, "a\\b": {}, "C:/x": {}, "": {},
    "src//x.c": {}, "src/./x.c": {}, "SRC/digits.c": {"bytes": 1, "sha256": "0" * 64}, "manifest.json": {"bytes": 1, "sha256": "0" * 64},
    "a\nb": {}, "\ud800": {}, "x" * 5000: {}, "src/none.c": {"bytes": 10**30, "sha256": "0" * 64}, "src/text.c": "text",
    "src/bool.c": {"bytes": True, "sha256": "0" * 64}, "src/more.c": {"bytes": 1, "sha256": "0" * 64, "mode": "0777"},
    "src/hash.c": {"bytes": 1, "sha256": "0" * 63 + "G"},
}  # fmt: skip


def test_every_row_of_a_hostile_list_is_named(unsigned: Path) -> None:
    for name in ("manifest.json", "build.json"):
        edit(unsigned, lambda facts: facts["files"].update(FILES), name)
        told = problems(unsigned)
        assert sum(where.startswith(name) for where in told) == len(FILES), name
    edit(unsigned, lambda facts: facts["files"].update({"src/digits.c": {"bytes": 1, "sha256": "0" * 64}}), "build.json")
    assert problems(unsigned)["build.json files 'src/digits.c'"] == "must be a path in a package, once"
    (unsigned / "src/escape.c").write_text("x")
    assert problems(unsigned)["src/escape.c"] == "is no part of the package"


@pytest.mark.parametrize(
    "change",
    [
        {"files": []}, {"files": None}, {"schema_version": 2}, {"name": "../x"}, {"target": 3}, {"model_sha256": "x"}, {"card": []},
        {"card": {"author": 3}}, {"card": {"author": "a\nb"}}, {"card": {"writer": "x"}}, {"card": {"url": "x" * 9999}}, {"macs": -1},
        {"inputs": [{"dtype": "float128", "shape": [1]}]}, {"inputs": [{"dtype": "int8", "shape": [10**30]}]}, {"calls": {"a": 1}},
        {"options_sha256": None}, {"calibration_sha256": 5}, {"memory": None}, {"vocabularies": ["a b"]},
    ],
    ids=str,
)  # fmt: skip
def test_a_manifest_that_says_nonsense_is_refused(unsigned: Path, change: dict[str, Any]) -> None:
    edit(unsigned, lambda facts: facts.update(change))
    assert any(where.startswith(f"manifest.json {next(iter(change))}") for where in problems(unsigned))


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 200_000, '{"a": 1, "a": 2}', '{"macs": ' + "9" * 9000 + "}", "\xff", "null"])
def test_a_manifest_that_is_none_is_refused(unsigned: Path, text: str) -> None:
    (unsigned / "manifest.json").write_bytes(text.encode("latin-1"))
    assert "manifest.json" in problems(unsigned)


def test_a_package_built_again_has_the_same_lists_and_no_old_signature(made: Path, tmp_path: Path) -> None:
    for name in ("digits.onnx", "digits"):
        (shutil.copy if name.endswith("onnx") else shutil.copytree)(made / name, tmp_path / name)
    package = build(tmp_path).directory
    for name in ("manifest.json", "build.json", "MODEL_CARD.md"):
        assert (package / name).read_bytes() == (made / "digits" / name).read_bytes(), name
    assert not (package / "manifest.sig").exists() and problems(package) == {}
    shutil.copy(made / "digits/manifest.sig", package)
    assert problems(package, made / "key.pub") == {}


def test_the_card_is_the_models_and_the_settings_own(made: Path) -> None:
    card = edgec.Package(made / "digits").manifest.card
    assert card == {
        "version": "7", "author": CARD["author"], "license": "Apache-2.0", "url": "u" * 1999 + "…",
        "citation": "evil ](http://x) | <script>", "limitations": "None of them *known*.", "producer": "lab 2.0",
    }  # fmt: skip
    page = (made / "digits/MODEL_CARD.md").read_text()
    assert "| License | Apache-2.0 |" in page and "Ada \\| \\<b\\>B\\</b\\>" in page and " <script" not in page
    assert "\\](http" not in page and "names no license" not in page
    steps = edgec.Package(made / "digits").manifest.quantization_steps
    assert steps[-1].after > steps[0].before
    assert all(f"| {step.step} | {step.before:.2f} dB |" in page for step in steps)


def test_lists_of_an_old_package_that_are_none_are_no_matter(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old/manifest.json").write_text('{"edgec_version": "1", "files": 5, "made": [["x"]]}')
    (tmp_path / "old/build.json").write_text('{"files": {"build/x": 1, "dist/old.whl": 2}}')
    (tmp_path / "old/dist").mkdir()
    for name in ("dist/old.whl", "manifest.sig", "mine.txt"):
        (tmp_path / "old" / name).write_text("x")
    with complete_directory(tmp_path / "old", {"manifest.json": b"{}"}):
        pass
    assert {path.name for path in (tmp_path / "old").rglob("*") if path.is_file()} == {"manifest.json", "mine.txt"}


def test_the_commands_of_the_page_are_understood() -> None:
    page = (DIGITS.parents[1] / "docs/package.md").read_text(encoding="utf-8")
    commands = [line for line in page.splitlines() if line.startswith(("edgec build", "edgec verify"))]
    assert [parse(command.split()[1:]).verb for command in commands] == ["build", "verify"]


def test_what_is_no_package_or_no_key_is_a_matter_of_usage(made: Path, program: Program, tmp_path: Path) -> None:
    for place in (tmp_path / "nothing", tmp_path, made / "key"):
        program("verify", place).failed(2)
    for name, words in (("key", "private key"), ("rsa.pub", "not an ed25519 key"), ("none", "no such file"), ("digits.onnx", "too large")):
        program("verify", made / "digits", "--key", made / name).failed(2, words)
    assert edgec.verify(made / "digits", key=made / "pem.pub").trusted, "PEM is as good"
