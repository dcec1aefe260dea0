"""No program that edgec starts inherits a secret, and no file has a name in a shared folder that somebody else can foretell."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgec.base.environment import child_environment, users_command_environment

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in (ROOT / "edgec").rglob("*.py") if "_data" not in path.parts)
STARTING = {"run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput"}  # of subprocess
OTHERS = {
    "system",
    "popen",
    "fork",
    "forkpty",
    "posix_spawn",
    "posix_spawnp",
    "startfile",
    "create_subprocess_exec",
    "create_subprocess_shell",
}
ENVIRONMENTS = {"child_environment", "users_command_environment"}
# the one place where a command is the user's own, and gets what the user gave it
USERS_OWN = {"edgec/boards/connect/ssh_line.py"}
# the one place that forks: a worker that was started without secrets, for one request
FORKS = {("edgec/isolation/worker.py", "fork"), ("edgec/cli/guard.py", "fork")}


def calls(tree: ast.AST) -> Iterator[tuple[ast.Call, str, str]]:
    """Every call as `object.name(...)`, or with an empty object."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Attribute):
                yield node, function.value.id if isinstance(function.value, ast.Name) else "", function.attr
            elif isinstance(function, ast.Name):
                yield node, "", function.id


def makers(tree: ast.AST, value: ast.expr) -> set[str]:
    """The functions from which an environment is made: called in the expression, or in what its name is assigned."""
    found = {name for _, _, name in calls(value)} & ENVIRONMENTS
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and names & {
            part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)
        }:
            found |= {name for _, _, name in calls(node.value)} & ENVIRONMENTS
    return found


def test_every_program_is_started_with_an_environment_without_secrets() -> None:
    for path in FILES:
        tree, home = ast.parse(path.read_text(encoding="utf-8")), str(path.relative_to(ROOT))
        allowed = ENVIRONMENTS if home in USERS_OWN else {"child_environment"}
        for node, module, name in calls(tree):
            where = f"{home}:{node.lineno}"
            started = module in ("os", "asyncio", "pty") and (name in OTHERS or name.startswith(("exec", "spawn")))
            assert not started or (home, name) in FORKS, f"{where}: {name}"
            if module == "subprocess" and name in STARTING:
                given = [keyword.value for keyword in node.keywords if keyword.arg == "env"]
                assert given and (found := makers(tree, given[0])) and found <= allowed, f"{where}: give env={' or '.join(allowed)}()"


def test_no_file_has_a_name_in_a_shared_folder_that_can_be_foretold() -> None:
    """tempfile's own functions choose names that nobody else has; boards' /data/local/tmp is Android's, and no other user's."""
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        found = {name for _, _, name in calls(ast.parse(text))}
        assert not found & {"gettempdir", "mktemp", "tempnam", "tmpnam"} and '"/tmp' not in text.replace("/data/local/tmp", ""), path


def test_secrets_are_known_by_their_names() -> None:
    secrets = ["EDGEC_SIGN_PASSPHRASE", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "openai_api_key", "NPM_TOKEN"]
    kept = {"PATH": "/bin", "HOME": "/root", "CC": "gcc", "ANDROID_NDK_HOME": "/ndk", "SSH_AUTH_SOCK": "/run/agent", "LANG": "C"}
    assert child_environment(dict.fromkeys(secrets, "x") | kept) == kept


def test_a_users_own_command_keeps_the_users_own_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEC_SIGN_PASSPHRASE", "x")
    monkeypatch.setenv("CLOUD_TOKEN", "y")
    given = users_command_environment()
    assert "EDGEC_SIGN_PASSPHRASE" not in given and given["CLOUD_TOKEN"] == "y"


WATCHED = """
import json, os, sys
started = []

def heard(event, arguments):
    if event == "subprocess.Popen":
        started.append([str(arguments[0]), arguments[3] is not None, sorted(arguments[3] or os.environ)])

sys.addaudithook(heard)
import edgec
model, data, out = sys.argv[1:]
package = edgec.build(model, calib=data, out=out, target="portable", cc="gcc -O0")
package.examine()
edgec.run(package, data)
edgec.deploy(out, everything=True)
print(json.dumps(started))
"""


def test_compilers_exams_and_boards_never_see_a_secret(tmp_path: Path) -> None:
    """Python's own audit tells of every program that a build, an exam, a run and a deployment start."""
    digits = ROOT / "examples" / "digits"
    places = [str(digits / "digits.onnx"), str(digits / "calibration.npz"), str(tmp_path / "package")]
    (tmp_path / "devices.yaml").write_text(
        f"devices:\n  here:\n    target: portable\n    connection: local\n    work: {tmp_path / 'board'}\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT), "EDGEC_SIGN_PASSPHRASE": "correct horse", "GITHUB_TOKEN": "x"}
    command = [sys.executable, "-c", WATCHED, *places]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    started = json.loads(done.stdout.splitlines()[-1])
    assert {Path(program).name for program, _, _ in started} >= {"gcc", "ar", "digits_exam"}
    for program, given, names in started:
        assert given and not {"EDGEC_SIGN_PASSPHRASE", "GITHUB_TOKEN"} & set(names), program
