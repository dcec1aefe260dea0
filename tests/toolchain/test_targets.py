"""targets/*.yaml: all load, extend each other, and are told from misspelt ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import edgec.targets as targets
from edgec.base.errors import UsageError
from edgec.kernels.matrix_int8 import input_multiple
from edgec.targets import all_targets, load_target, target_names

NEEDED = """
    portable x86-64 rpi3 rpi4 rpi5 rpi-zero2 android-arm64 linux-arm64 rpi-32bit android-armv7 linux-riscv64 macos-arm64 ios-arm64
    windows-x64
""".split()  # noqa: SIM905


def test_all_targets_load() -> None:
    found = {target.name: target for target in all_targets()}
    assert set(NEEDED) <= set(found)
    assert load_target("host").name in found
    for target in found.values():
        multiple = 16 if "helium" in target.vocabularies else 8 if target.signed_activations else 4
        assert input_multiple(target.vocabularies) == multiple
        assert target.vocabularies[0] in ("portable", "sse41", "neon", "neon32", "dsp", "helium")


def test_extends_overrides() -> None:
    assert load_target("rpi4").arch == "aarch64" and load_target("rpi4").vocabularies == ("neon",)
    assert load_target("macos-arm64").emulator == ()


def test_an_unknown_name_gets_a_hint() -> None:
    with pytest.raises(UsageError, match="did you mean 'rpi4'"):
        load_target("rpi44")
    assert "host" in target_names()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("extends: portable\narhc: x", "did you mean 'arch'"),
        ("extends: portable\nsigned_activations: four", "must be bool"),
        ("extends: portabel", "did you mean 'portable'"),
        ("extends: broken", "circle"),
        ("description: only", "arch"),
        ("[1", "not YAML"),
        ("- a", "must hold keys"),
    ],
)
def test_a_wrong_file_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    source = targets.resource("targets", "portable.yaml").read_text()
    (tmp_path / "portable.yaml").write_text(source)
    (tmp_path / "broken.yaml").write_text(text)
    monkeypatch.setattr(targets, "resource", lambda kind, name="": tmp_path / name)
    targets._facts.cache_clear()
    try:
        with pytest.raises(UsageError, match=message):
            load_target("broken")
    finally:
        targets._facts.cache_clear()
