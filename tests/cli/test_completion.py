"""Completion in a real shell."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from edgec.cli.verbs import VERBS
from tests.calling import Program

CASES = {
    "edgec bu": {"build"},
    "edgec ": set(VERBS),
    "edgec build --prec": {"--precision"},
    "edgec build --target rpi-": {"rpi-32bit", "rpi-zero2"},
    "edgec -q devices ad": {"add"},
    "edgec devices add --wri": {"--write"},
    "edgec build --precision ": {"int8", "fp32", "fp16"},
    "edgec bench --effort h": {"high"},
    "edgec cache ": {"show", "clean"},
    "edgec cache show ": set(),
    "edgec cache show --js": {"--json"},
    "edgec bench x --percentile p9": {"p90", "p95", "p99"},
    "edgec build dig": set(),
}
ASK = 'COMP_WORDS=(LINE); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); COMPREPLY=(); _edgec; echo "${COMPREPLY[@]}"'


def test_bash_completes(program: Program) -> None:
    done = program("completion", "bash")
    asked = "\n".join(ASK.replace("LINE", line + (" ''" if line.endswith(" ") else "")) for line in CASES)
    ended = subprocess.run(["bash", "-uc", f"{done.out}\n{asked}"], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert [set(line.split()) for line in ended.stdout.splitlines()] == list(CASES.values())


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_all_verbs_and_flags(program: Program, shell: str) -> None:
    text = program("completion", shell).out
    assert all(verb in text for verb in VERBS) and "min-agreement" in text and "roll-back" in text
    if shutil.which(shell):
        subprocess.run([shell, "-n", "-c", text], check=True)


def test_the_flags_of_every_verb_are_known_without_what_computes() -> None:
    """Nor is any of it loaded for the help of one verb, or for words that nobody understands."""
    program = "import sys; from edgec.cli.main import main; main(['completion', 'bash']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stderr.split() if name == name.partition(".")[0] or name.startswith("edgec.verbs.")}
    assert not loaded & {"numpy", "onnx", "onnxruntime", "paramiko", "edgec.verbs.build", "edgec.verbs.inspect"}
