"""Completion in real shells."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from edgec.cli.verbs import VERBS
from tests.calling import Program, names_in

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


def typed(line: str) -> str:
    """Its words for a shell, the last of which is being typed."""
    return line + (" ''" if line.endswith(" ") else "")


def test_bash_completes(program: Program) -> None:
    done = program("completion", "bash")
    asked = "\n".join(ASK.replace("LINE", typed(line)) for line in CASES)
    ended = subprocess.run(["bash", "-uc", f"{done.out}\n{asked}"], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert [set(line.split()) for line in ended.stdout.splitlines()] == list(CASES.values())


def test_zsh_completes(program: Program, needs: Callable[..., None]) -> None:
    """Its own system takes the function; what that offers is looked at, of which zsh shows what begins with the word."""
    needs("zsh")
    asked = [f"words=({typed(line)}); CURRENT=$#words; _edgec; print" for line in CASES]
    seen = ["_files() { }", 'compadd() { shift; print -rn -- "$@ " }']
    script = ["autoload -Uz compinit", "compinit -u -D", program("completion", "zsh").out, "[[ $_comps[edgec] == _edgec ]]", *seen, *asked]
    ended = subprocess.run(["zsh", "-fec", "\n".join(script)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    offered = [line.split() for line in ended.stdout.splitlines()]
    begun = ["" if line.endswith(" ") else line.split()[-1] for line in CASES]
    assert [{word for word in words if word.startswith(start)} for words, start in zip(offered, begun, strict=True)] == list(CASES.values())


def test_fish_completes(program: Program, work: Path, needs: Callable[..., None]) -> None:
    """Where no word of edgec's can follow, it offers files."""
    needs("fish")
    asked = [f"complete -C '{line}' | string replace -r '\\t.*' '' | string join ' '" for line in CASES]
    script = "\n".join([program("completion", "fish").out, *asked, "true"])
    ended = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 0 and not ended.stderr, ended.stderr
    offered = [set(line.split()) - names_in(work) for line in ended.stdout.splitlines()]
    assert offered == list(CASES.values())


def test_the_flags_of_every_verb_are_known_without_what_computes() -> None:
    """Nor is any of it loaded for the help of one verb, or for words that nobody understands."""
    program = "import sys; from edgec.cli.main import main; main(['completion', 'bash']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stderr.split() if name == name.partition(".")[0] or name.startswith("edgec.verbs.")}
    assert not loaded & {"numpy", "onnx", "onnxruntime", "paramiko", "edgec.verbs.build", "edgec.verbs.inspect"}
