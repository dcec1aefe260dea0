"""Every table is whole: operators have lowerings, rewrites have tests, targets and templates can be used, settings are a build's fields."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import jinja2
import pytest

import edgec
import edgec.ops
from edgec.base.resources import KINDS, resource
from edgec.cli.verbs import VERBS
from edgec.emit.package import WEIGHTS
from edgec.emit.templates import _environment
from edgec.emit.vocabularies import VOCABULARIES
from edgec.ir.loop import LOOP
from edgec.kernels import VARIANTS
from edgec.lower.operators import rule_of
from edgec.ops.registry import OPERATORS, Role
from edgec.passes.pipeline import PIPELINE
from edgec.settings.config import FLAGS, SETTINGS, BuildConfig, configure
from edgec.targets import all_targets

ROOT = Path(__file__).parents[2]
# Operators of the IR that no target computes, and why they are there
NOT_LOWERED = {"Size": "folded where shapes are known; else the product of what Shape says"}
# Verbs that are no function of edgec's: two are rooms of these names, and one is about the command line itself
ROOMS = {"cache", "completion", "targets"}


def test_every_operator_is_lowered_or_listed() -> None:
    """A loop has no rule of its own: the nodes of its body do."""
    assert {name for name in OPERATORS if rule_of(name) is None} == {*NOT_LOWERED, LOOP}


def test_what_may_become_a_table_has_an_exact_function() -> None:
    """And only of such are further numbers named, or anything said to be total."""
    claims = {name for name, known in OPERATORS.items() if known.role is Role.TABLE or known.numbers or known.total}
    assert {name for name in claims if not OPERATORS[name].exact} == set()


def test_every_rewrite_is_in_the_pipeline_once() -> None:
    import importlib

    from edgec.passes.rewrite import Rewrite

    names = [rewrite.name for rewrite in PIPELINE]
    assert len(names) == len(set(names))
    modules = [
        importlib.import_module(f"edgec.passes.{path.stem}") for path in (ROOT / "edgec/passes").glob("*.py") if path.stem != "__init__"
    ]
    assert {value.name for module in modules for value in vars(module).values() if isinstance(value, Rewrite)} == set(names)


@pytest.mark.parametrize("name", [rewrite.name for rewrite in PIPELINE])
def test_every_rewrite_states_its_algebra_and_has_a_text(name: str) -> None:
    (rewrite,) = (item for item in PIPELINE if item.name == name)
    assert inspect.getdoc(rewrite.function)
    assert list((ROOT / "tests/passes/rewrites").glob(f"{name}*.eir"))


@pytest.mark.parametrize("folder", sorted(path.name for path in resource("templates").iterdir()))
def test_templates_know_no_undefined_names(folder: str) -> None:
    found = _environment(folder)
    assert issubclass(found.undefined, jinja2.StrictUndefined)
    assert found.list_templates()
    for name in found.list_templates():
        found.get_template(name)


def test_every_kernel_has_its_template_and_the_reverse() -> None:
    folder = resource("templates", "c")
    written = {path.relative_to(folder).as_posix().removesuffix(".c.j2") for path in folder.glob("*/*.c.j2")}
    assert written == {variant.template or kind.template for kind, variants in VARIANTS.items() for variant in variants}


def test_every_target_names_what_is_there() -> None:
    for target in all_targets():
        assert target.description and set(target.vocabularies) <= set(VOCABULARIES), target.name
        assert all(target.arch in VOCABULARIES[isa].archs or not VOCABULARIES[isa].archs for isa in target.vocabularies), target.name


def test_resources_lie_where_they_are_looked_for() -> None:
    assert all(resource(kind).is_dir() for kind in KINDS)
    with pytest.raises(ValueError, match="unknown kind"):
        resource("recipes")


def test_settings_are_the_fields_of_a_build() -> None:
    assert {*SETTINGS, "origins"} == set(BuildConfig.__dataclass_fields__)
    unsaid = [name for name, setting in FLAGS.items() if not (setting.group and setting.default)]
    assert not unsaid, "--help says nothing of where these belong, or what holds without them"
    assert all(configure(weights=form).weights == form for form in WEIGHTS)


def test_every_verb_is_a_typed_function_of_the_same_name() -> None:
    for verb in set(VERBS) - ROOMS:
        function = getattr(edgec, verb)
        assert (
            function is getattr(import_module(f"edgec.verbs.{verb}"), verb)
            and inspect.getdoc(function)
            and inspect.signature(function).return_annotation
        )
    assert set(edgec.__all__) >= set(VERBS) - ROOMS
    with pytest.raises(AttributeError, match="no attribute 'bild'"):
        edgec.bild  # noqa: B018


def test_a_verb_is_loaded_when_it_is_asked_for() -> None:
    for verb, summary in VERBS.items():
        assert summary == import_module(f"edgec.cli.{verb}").__doc__
    program = "import atexit, sys; atexit.register(lambda: print('\\n', *sys.modules)); from edgec.cli.main import main; main(sys.argv[1:])"
    shown = {}
    for words in (("--help",), ("completion", "bash"), ("report", "--help")):
        done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
        *shown[words[0]], modules = done.stdout.splitlines()
        assert "edgec.cli.main" in modules.split() and not {"numpy", "onnx", "jinja2", "edgec.reports.html"} & set(modules.split())
    assert all(any(f"{line} ".startswith(f"    {verb} ") for line in shown["--help"]) for verb in VERBS)


def test_no_file_of_the_project_is_stray() -> None:
    """Data folders hold what their readers look for."""
    assert not [path for path in (ROOT / "targets").iterdir() if path.suffix != ".yaml"]
    assert not [path for path in (ROOT / "templates").rglob("*") if path.is_file() and path.suffix != ".j2"]
    assert not [path for path in (ROOT / "runtimes").rglob("*") if path.is_file() and path.suffix not in (".c", ".h", ".m", ".java")]
