"""Where operators of users' own come from: files, installed packages; and what builds keep of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, parser

import edgec
from edgec.base.errors import UsageError
from edgec.operators import CustomOperator, custom
from edgec.operators.finding import mentioned
from edgec.pipeline.models import read_model
from edgec.settings.config import configure
from tests.calling import QUICK, Program
from tests.frontend.models import model, node, weights
from tests.operators.custom_models import SNAKE, X, answer, own, refused, saved, written


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# Files


FILES = {
    "none.py": (None, "none.py: no such file"),
    "folder.py": ("", "folder.py: is a folder"),
    "acme.txt": (SNAKE, "acme.txt: is no Python file"),
    "binary.py": (b"\x00\x01", "binary.py.*cannot be run: "),
    "syntax.py": ("x = 1\ndef f(:\n", "syntax.py:2: cannot be run: SyntaxError"),
    "raises.py": ("import os\n\ndef f():\n    raise OSError('no')\n\nf()\n", "raises.py:4: cannot be run: OSError: no"),
    "exits.py": ("import sys\nsys.exit(3)\n", "exits.py:2: cannot be run: SystemExit: 3"),
    "missing.py": ("import nothing_like_it\n", "missing.py:1: cannot be run: ModuleNotFoundError"),
    "empty.py": ("x = 1\n", "empty.py: defines no operator"),
    "body.py": (f"{SNAKE}\n@custom('com.acme', 'F')\ndef f(x):\n    return op.Sinn(x)\n", "body.py:10: operator set 21 of ONNX has no"),
    "twice.py": (f"{SNAKE}\nother = custom('com.acme', 'Snake')(lambda x: x)\n", "Snake: is defined twice.*twice.py and in twice.py"),
    "standard.py": ("from edgec.operators import custom\ncustom('ai.onnx', 'Sin', '')\n", "standard.py:2: .*'ai.onnx'"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_used_says_why_and_where(name: str) -> None:
    content, words = FILES[name]
    if name == "folder.py":
        Path(name).mkdir()
    elif content is not None:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError, match=f"(?s){words}"):
        read_model(saved(own("Snake", "x a")), configure(precision="fp32", operators=name))


def test_two_files_that_define_the_same_are_refused_and_one_that_is_named_twice_is_not() -> None:
    path = saved(own("Snake", "x a"))
    first, second = written("first.py", SNAKE), written("second.py", SNAKE)
    assert "is defined twice" in refused(UsageError, path, first, second)
    answer(path, first, first)


def test_a_file_runs_once_for_each_content() -> None:
    path, file = saved(own("Snake", "x a")), written("acme.py", SNAKE + "open('runs', 'a').write('x')\n")
    for _ in range(2):
        read_model(path, configure(precision="fp32", operators=file))
    assert Path("runs").read_text() == "x"
    file.write_text(file.read_text().replace("+", "-"))
    a = weights(8) ** 2 + 1
    np.testing.assert_allclose(answer(path, file), X - np.sin(a * X) ** 2 / a, rtol=1e-5, atol=1e-6)
    assert Path("runs").read_text() == "xx"


def test_what_is_no_operator_is_refused() -> None:
    assert "function f is no operator" in refused(UsageError, saved(own("F")), named_f())
    with pytest.raises(UsageError, match="write a path"):
        configure(operators=3)


def named_f() -> Any:
    def f(x: Any) -> Any:
        return x

    return f


# Packages


def install(folder: Path, domain: str, module: str, text: str, value: str = "") -> None:
    """A distribution as pip leaves it."""
    (folder / f"{module}.py").write_text(text)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[edgec.operators]\n{domain} = {value or module}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def test_an_installed_package_brings_operators_of_the_domain_it_is_called_by(site: Path) -> None:
    install(site, "com.acme", "acme_installed", SNAKE)
    install(site, "com.other", "other_installed", "raise RuntimeError('nobody asked for it')\n")
    a = weights(8) ** 2 + 1
    found = answer(saved(own("Snake", "x a")))
    np.testing.assert_allclose(found, X + np.sin(a * X) ** 2 / a, rtol=1e-5, atol=1e-6)
    assert "acme_installed" in sys.modules and "other_installed" not in sys.modules
    again = answer(saved(own("Snake", "x a")))  # when the module is there already
    np.testing.assert_array_equal(found, again)
    named = custom("com.acme", "Snake")(lambda x, alpha: -x)  # goes before it
    np.testing.assert_allclose(answer(saved(own("Snake", "x a")), named), -X)


def test_a_model_without_such_nodes_imports_nothing(site: Path) -> None:
    install(site, "com.acme", "acme_untouched", "raise RuntimeError('nobody asked for it')\n")
    read_model(saved(node("Relu", "x", "y", "com.acme"), output="y"), configure(precision="fp32"))
    assert "acme_untouched" not in sys.modules


@pytest.mark.parametrize(
    ("text", "value", "words"),
    [
        ("raise RuntimeError('broken')\n", "", "the operators of acme_wrong{} cannot be loaded: RuntimeError: broken"),
        ("x = 1\n", "", "the entry point of acme_wrong{} leads to no operator"),
        (SNAKE, "acme_wrong{}:snack", "the operators of acme_wrong{} cannot be loaded: AttributeError"),
    ],
)
def test_an_installed_package_that_does_not_work_is_named(site: Path, text: str, value: str, words: str) -> None:
    serial = str(abs(hash((text, value))))
    install(site, "com.acme", f"acme_wrong{serial}", text, value.format(serial))
    found = refused(UsageError, saved(own("Snake", "x a")))
    assert words.format(serial) in found and "com.acme = acme_wrong" in found


def test_one_operator_of_an_installed_module(site: Path) -> None:
    install(site, "com.acme", "acme_single", SNAKE, "acme_single:snake")
    answer(saved(own("Snake", "x a")))


def test_domains_are_found_wherever_a_node_is() -> None:
    inner = helper.make_graph([own("F", "x", "z")], "b", [], [onnx.ValueInfoProto(name="z")])
    path = saved(node("If", "c", "y", then_branch=inner, else_branch=inner))
    assert mentioned(path, ["com.acme", "com", "acme", "com.acm", "com.acme2"]) == {"com.acme"}
    assert mentioned(Path("none.onnx"), ["com.acme"]) == set() == mentioned(written("empty.onnx", ""), ["com.acme"])


# Builds


def test_packages_know_their_operators_and_the_cache_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path("cache").absolute()))
    monkeypatch.setenv("EDGEC_CACHE", "yes")
    path, file, told = saved(own("Snake", "x a")), written("acme.py", SNAKE), []

    def built(out: str) -> edgec.Package:
        told.clear()
        return edgec.build(
            path, target="portable", precision="fp32", operators="acme.py", out=out, compile=False,
            progress=lambda stage, done, total: told.append(stage),
        )  # fmt: skip

    first = built("first")
    assert list(first.manifest.options.operators or {}) == ["com.acme::Snake"] and "found in the cache" not in told
    again = built("again")
    assert "found in the cache" in told
    assert (Path("first/manifest.json").read_bytes()) == Path("again/manifest.json").read_bytes()
    file.write_text(f"# a comment\n{SNAKE}")
    built("commented")
    assert "found in the cache" in told
    file.write_text(SNAKE.replace("/ alpha", "* alpha"))
    changed = built("changed")
    assert "found in the cache" not in told
    hashes = [package.manifest.options_sha256 for package in (first, again, changed)]
    assert hashes[0] == hashes[1] != hashes[2]
    with pytest.raises(UsageError, match="was built with another com"):
        edgec.compare(path, first, {"x": X}, operators=file)
    assert b"com.acme::Snake" in Path("first/MODEL_CARD.md").read_bytes()


def test_operators_of_a_model_without_them_leave_no_trace() -> None:
    path = saved(node("Relu", "x", "y", "r"), output="y")
    plain, more = (
        edgec.build(path, target="portable", precision="fp32", out=out, compile=False, cache=False, **given)
        for out, given in (("plain", {}), ("more", {"operators": [custom("com.acme", "F")(lambda x: x)]}))
    )
    assert Path("plain/manifest.json").read_bytes() == Path("more/manifest.json").read_bytes()
    assert isinstance(plain, edgec.Package) and more.manifest.options.operators is None


def test_the_same_int8_bytes_as_of_a_model_that_was_exported_without_it(tmp_path: Path) -> None:
    """What a custom node becomes is what its body would have been in the file."""
    body = "Gate (x) => (y) { s = Sigmoid(x) y = Mul(x, s) }"
    function = parser.parse_function(f'<opset_import: ["": 18], domain: "com.acme"> {body}')
    samples = {"x": weights(64, 8, seed=3)}
    answers = []
    for name, more, operators in (("without", {"functions": [function]}, ()), ("with", {}, custom("com.acme", "Gate", body))):
        package = edgec.build(
            _dense(more), target="portable", calib=samples, operators=operators, out=tmp_path / name, cc="gcc -O0", name="net"
        )
        answers.append(edgec.run(package, {"x": samples["x"][:2]})["y"])
    np.testing.assert_array_equal(*answers)


def _dense(more: dict[str, Any]) -> Path:
    nodes = [node("MatMul", "x w", "h", "in"), own("Gate", "h", "y")]
    onnx.save(model(nodes, {"x": [2, 8]}, ["y"], {"w": weights(8, 8)}, opset=18, domains={"com.acme": 1}, **more), "model.onnx")
    return Path("model.onnx")


def test_the_class_is_what_custom_makes() -> None:
    made = custom("com.acme", "F")(lambda x: x)
    assert isinstance(made, CustomOperator) and str(made) == "com.acme::F"


def test_every_verb_that_reads_a_model_takes_them(program: Program, work: Path) -> None:
    """By the flag; and by an edgec.toml of the current folder, which `compare` hears too."""
    saved(own("Snake", "x a"), node("MatMul", "y w", "z"), output="z", more={"w": weights(8, 4)})
    written("acme.py", SNAKE)
    np.savez("samples.npz", x=weights(16, 8, seed=2))
    flags = ("--operators", "acme.py")
    program("quantize", "model.onnx", "--calib", "samples.npz").failed(3, "--operators")
    for verb in (
        ("quantize", "model.onnx", "--calib", "samples.npz", *flags),
        ("inspect", "model.onnx", *flags),
        ("build", "model.onnx", "--dry-run", *flags),
        ("build", "model.onnx", "--calib", "samples.npz", "-o", "made", *QUICK, *flags),
        ("compare", "model.onnx", "made", "--data", "samples.npz", "--layers", *flags),
    ):
        done = program(*verb)
        assert done.code == 0, done.err
    program("compare", "model.onnx", "made", "--data", "samples.npz").failed(3, "--operators")
    written("edgec.toml", '[build]\noperators = "acme.py"\n')
    assert program("compare", "model.onnx", "made", "--data", "samples.npz").code == 0
    assert program("inspect", "model.onnx").code == 0
    program("build", "model.onnx", "--operators", "none.py", "--dry-run").failed(2, "none.py: no such file")


@pytest.mark.long
def test_models_are_benched_with_them(program: Program, work: Path) -> None:
    saved(own("Snake", "x a"))
    written("acme.py", SNAKE)
    written("devices.yaml", "devices:\n  here: {connection: local, target: portable, work: boards}\n")
    np.savez("samples.npz", x=weights(8, 8, seed=2))
    done = program(
        "bench", "model.onnx", "--all", "--operators", "acme.py", "--data", "samples.npz", "--seconds", 0.01, "--runs", 2, "--rounds", 2,
        "--threads", 1, "--cc", "gcc -O0", "-o", "first",
    )  # fmt: skip
    assert done.code == 0, done.err
