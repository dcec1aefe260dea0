"""`make locks`: from pyproject.toml the lock files, exact versions with hashes for every system and Python from 3.11 on, and the SBOM.

What is locked already stays; `make locks UPGRADE=--upgrade` takes the newest versions.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

HERE = Path(__file__).parent
# file -> the extras of pyproject.toml that it has beside edgec's own dependencies
LOCKS: Mapping[str, tuple[str, ...]] = {"development": ("dev", "farm"), "runtime": (), "zig": ("zig",), "lock": ("lock",)}
BUILD = "build"  # what pyproject.toml builds with
SBOM = HERE / "edgec.cdx.json"


@dataclass
class Pin:
    """A line of a lock file. parents: who asked for it."""

    name: str
    version: str
    marker: str
    hashes: list[str] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)


def compile_locks(*words: str) -> None:
    """development first, so that nobody who develops has other versions than whoever runs."""
    flags = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-header", "--quiet", *words]
    for name, extras in LOCKS.items():
        chosen = [word for extra in extras for word in ("--extra", extra)]
        same = [] if name == "development" else ["--constraint", "locks/development.txt"]
        _uv("pyproject.toml", *chosen, *flags, *same, "-o", f"locks/{name}.txt")
    _uv("locks/build.in", *flags, "--constraint", "locks/development.txt", "-o", f"locks/{BUILD}.txt")


def _uv(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "uv", "pip", "compile", *words], cwd=HERE.parent, check=True)


def pins(text: str) -> Iterator[Pin]:
    """What a lock file pins, in its order."""
    found: Pin | None = None
    for line in text.splitlines():
        if head := re.match(r"([\w.-]+)==([^ ;\\]+)(?: ; ([^\\]+?))? ?\\?$", line):
            if found:
                yield found
            found = Pin(head[1], head[2], head[3] or "")
        elif found and (digest := re.search(r"--hash=sha256:([0-9a-f]{64})", line)):
            found.hashes.append(digest[1])
        elif found and (parent := re.match(r"    #(?: via|  ) +([\w.-]+)", line)):
            found.parents.append(parent[1])
    if found:
        yield found


def sbom(text: str, name: str, version: str) -> str:
    """The CycloneDX bill of materials of a lock file, the same for the same text."""
    root = Component(name=name, version=version, type=ComponentType.APPLICATION, bom_ref=name, purl=PackageURL("pypi", None, name, version))
    root.licenses.add(DisjunctiveLicense(id="Apache-2.0"))
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, text))
    bom.metadata.component = root
    parts = {f"{pin.name}@{pin.version}": (pin, _component(pin)) for pin in pins(text)}
    for pin, part in parts.values():
        bom.components.add(part)
        for parent in pin.parents:
            above = [root] if parent == name else [component for other, component in parts.values() if other.name == parent]
            for component in above:
                bom.register_dependency(component, [part])
    facts = json.loads(JsonV1Dot6(bom).output_as_string())
    del facts["metadata"]["timestamp"]
    return json.dumps(facts, indent=1, sort_keys=True) + "\n"


def _component(pin: Pin) -> Component:
    place = ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(f"https://pypi.org/project/{pin.name}/{pin.version}/"),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in pin.hashes],
    )
    purl = PackageURL("pypi", None, pin.name, pin.version)
    properties = [Property(name="python:marker", value=pin.marker)] if pin.marker else []
    return Component(
        name=pin.name, version=pin.version, type=ComponentType.LIBRARY, bom_ref=str(purl), purl=purl,
        external_references=[place], properties=properties,
    )  # fmt: skip


if __name__ == "__main__":
    compile_locks(*sys.argv[1:])
    own = dict(re.findall(r'^(name|version) = "(.+)"$', (HERE.parent / "pyproject.toml").read_text(encoding="utf-8"), re.M))
    SBOM.write_text(sbom((HERE / "runtime.txt").read_text(encoding="utf-8"), own["name"], own["version"]), encoding="utf-8")
