"""The wheel works far from the checkout: it carries templates, runtimes and targets, and the program it installs builds packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.metadata import Metadata
from trove_classifiers import classifiers

from tests.calling import DIGITS, ROOT

BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
DATA = ("templates", "runtimes", "targets")


def call(*command: object, folder: Path) -> str:
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def make_wheel(sources: Path, folder: Path) -> Path:
    flags = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--no-cache-dir")
    call(sys.executable, "-m", "pip", "wheel", *flags, "--wheel-dir", folder, sources, folder=folder)
    (found,) = folder.glob("edgec-*.whl")
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


def test_the_same_wheel_comes_from_what_the_container_has(wheel: Path, tmp_path: Path) -> None:
    """Byte for byte, from another folder, of other times, without what git or a test left in the checkout."""
    sources = tmp_path / "sources"
    sources.mkdir()
    lines = [line.split() for line in (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines()]
    for *names, place in (words[1:] for words in lines if words[:1] == ["COPY"]):
        for name in names:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, sources / place, copy_function=shutil.copyfile, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copyfile(ROOT / name, sources / place / name)
    assert make_wheel(sources, tmp_path).read_bytes() == wheel.read_bytes()


def test_the_container_has_the_compilers_of_the_tests() -> None:
    packages = (ROOT / "tests/setup.sh").read_text(encoding="utf-8").partition('packages="')[2].partition('"')[0].split()
    (line,) = (line for line in (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines() if "apt-get install" in line)
    wanted = line.partition("--no-install-recommends ")[2].partition(" && ")[0].split()
    assert {"gcc", "gcc-aarch64-linux-gnu", "gcc-arm-linux-gnueabihf"} <= set(wanted) <= set(packages)


def test_a_package_index_takes_what_it_says(wheel: Path) -> None:
    archive = ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    said = Metadata.from_email(archive.read(name), validate=True)
    assert (
        said.license_expression == "Apache-2.0" and said.summary and said.description and said.description_content_type == "text/markdown"
    )
    assert said.classifiers and set(said.classifiers) <= classifiers
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    prose = BLOCK.sub("", said.description)
    links = re.findall(r"\]\(([^)]*)\)", prose)
    assert links and all(link.startswith("https://") for link in links), "an index has none of the repository's files"
    named = set(re.findall(r"\]\(((?:docs/)?[\w-]+\.md)", readme))
    assert len(named) > 10 and all(page in prose for page in named)
    assert BLOCK.findall(said.description) == BLOCK.findall(readme), "no block of code is touched"


def test_the_wheel_holds_the_package_and_its_data_and_nothing_else(wheel: Path) -> None:
    names = set(ZipFile(wheel).namelist())
    wanted = {f"edgec/_data/{path.relative_to(ROOT)}" for kind in DATA for path in (ROOT / kind).rglob("*") if path.is_file()}
    wanted |= {str(path.relative_to(ROOT)) for path in (ROOT / "edgec").rglob("*") if path.suffix in (".py", ".typed")}
    rest = {name for name in names - wanted if ".dist-info/" not in name}
    assert wanted <= names and not rest, (wanted - names, rest)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    (sbom,) = (name for name in names if ".dist-info/sboms/" in name)
    assert ZipFile(wheel).read(sbom) == (ROOT / "locks/edgec.cdx.json").read_bytes()


def test_an_installed_wheel_builds_packages(wheel: Path, tmp_path: Path) -> None:
    """In an environment of its own, which borrows edgec's dependencies, so that nothing is downloaded."""
    venv.create(tmp_path / "fresh", with_pip=False, symlinks=True)
    python = tmp_path / "fresh" / "bin" / "python"
    call(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-index",
        wheel,
        folder=tmp_path,
    )
    site = Path(call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=tmp_path).strip())
    (site / "dependencies.pth").write_text("\n".join({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}))
    where = call(
        python, "-c", "import edgec.base.resources as r; print(r.__file__, r.resource('templates'), r.resource('targets'))", folder=tmp_path
    )
    assert all(Path(path).is_relative_to(tmp_path / "fresh") for path in where.split())
    program = tmp_path / "fresh" / "bin" / "edgec"
    arguments = ("--calib", DIGITS / "calibration.npz", "--samples", "20", "--target", "portable", "--cc", "gcc -O0", "-o", "out")
    assert "passed" in call(program, "build", "-q", DIGITS / "digits.onnx", *arguments, folder=tmp_path)
    assert "rpi4" in call(program, "targets", folder=tmp_path)
