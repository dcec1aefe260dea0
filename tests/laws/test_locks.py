"""What is installed is what was locked: exact versions with hashes, and a bill of materials that says the same."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "locks").glob("*.txt"))}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
# lock file -> what pyproject.toml asks for in it
WANTED = {
    "runtime": PROJECT["project"]["dependencies"],
    "development": [*PROJECT["project"]["dependencies"], *EXTRAS["dev"], *EXTRAS["farm"]],
    "zig": [*PROJECT["project"]["dependencies"], *EXTRAS["zig"]],
    "lock": [*PROJECT["project"]["dependencies"], *EXTRAS["lock"]],
    "build": PROJECT["build-system"]["requires"],
}
PIN = re.compile(r"^([\w.-]+)==([^ ;\\]+)[^\n]*\\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.M)


def pins(text: str) -> dict[str, set[tuple[str, frozenset[str]]]]:
    """name -> its versions (several where they depend on the Python), each with its hashes."""
    found: dict[str, set[tuple[str, frozenset[str]]]] = {}
    for name, version, hashes in PIN.findall(text):
        found.setdefault(canonicalize_name(name), set()).add((version, frozenset(re.findall("[0-9a-f]{64}", hashes))))
    return found


def test_there_is_a_lock_for_all_that_is_installed() -> None:
    assert set(LOCKS) == set(WANTED)


@pytest.mark.parametrize("name", WANTED)
def test_a_lock_has_what_pyproject_asks_for_and_every_line_has_its_hashes(name: str) -> None:
    found = pins(LOCKS[name])
    for text in WANTED[name]:
        wanted = Requirement(text)
        versions = [version for version, _ in found.get(canonicalize_name(wanted.name), ())]
        assert versions and all(map(wanted.specifier.contains, versions)), f"{text}: {versions}; make locks"
    lines = [line for line in LOCKS[name].splitlines() if line and not line.startswith((" ", "#"))]
    assert len(lines) == sum(map(len, found.values())), "a line without a version or hashes"


def test_all_locks_agree() -> None:
    together: dict[str, set[tuple[str, frozenset[str]]]] = {}
    for text in LOCKS.values():
        for name, versions in pins(text).items():
            assert together.setdefault(name, versions) == versions, name


def test_the_makefile_and_ci_install_from_the_locks_alone() -> None:
    """Every installation names a lock, or is of edgec itself, or is the way out for Pythons that the locks are not for."""
    make, ci = (ROOT / "Makefile").read_text(encoding="utf-8"), (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert "LOCKED := $(PIP) --require-hashes\n" in make and "LOCK=yes" in ci and "pip install" not in ci
    assert set(re.findall(r"-r locks/(\w+)\.txt", make)) == set(LOCKS)
    for line in make.splitlines():
        if "$(PIP)" in line and not line.startswith("LOCKED"):
            assert "$(if $(LOCK)," in line, line
    assert "$(if $(LOCK),--no-deps --no-build-isolation) --editable ." in make


def test_the_bill_of_materials_is_the_runtime_lock() -> None:
    facts = json.loads((ROOT / "locks/edgec.cdx.json").read_text(encoding="utf-8"))
    own = facts["metadata"]["component"]
    assert (facts["bomFormat"], own["name"], own["version"]) == ("CycloneDX", "edgec", PROJECT["project"]["version"])
    found: dict[str, set[tuple[str, frozenset[str]]]] = {}
    for part in facts["components"]:
        hashes = frozenset(item["content"] for place in part["externalReferences"] for item in place["hashes"])
        assert part["purl"] == part["bom-ref"] == f"pkg:pypi/{part['name']}@{part['version']}"
        found.setdefault(part["name"], set()).add((part["version"], hashes))
    assert found == pins(LOCKS["runtime"]), "make locks"
    direct = next(item["dependsOn"] for item in facts["dependencies"] if item["ref"] == own["bom-ref"])
    asked = {canonicalize_name(Requirement(text).name) for text in PROJECT["project"]["dependencies"]}
    assert {re.split("[/@]", ref)[1] for ref in direct} == asked
