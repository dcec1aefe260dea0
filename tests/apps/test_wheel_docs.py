"""docs/raspberry-pi.md: what needs no board of somebody's is run; targets and systems are the code's own."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from edgec.apps.wheel_archive import platform_tag, wheel_abis
from edgec.cli.verbs import parse
from edgec.targets import load_target, target_names
from tests.apps.wheels import digits, install, wheel_of
from tests.conftest import once, require
from tests.contract.examiner import WHOLE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/raspberry-pi.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S) for line in block.splitlines()]


def test_every_command_is_understood() -> None:
    ours = [shlex.split(command)[1:] for command in COMMANDS if command.startswith("edgec ")]
    assert [parse(words).verb for words in ours] == ["devices", "build", "deploy", "bench", "build", "build"]


def test_the_program_in_python_says_three(shared: Path) -> None:
    """The first picture's best class, by the wheel that pip installs."""
    package = once(shared / "wheels", digits) / "digits"
    site = once(shared / "wheel-site", lambda folder: install(wheel_of(package), folder))
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, best, *rest = done.stdout.splitlines()
    isa, number = first.split()
    assert isa == "sse41" and best.split()[0] == number and len(rest) == 2


def test_targets_and_systems_are_the_codes_own() -> None:
    table = set(re.findall(r"`(\w[\w-]+)` \|$", PAGE, re.M))
    assert table == {name for name in target_names() if name.startswith("rpi") and not load_target(name).gpu}
    assert all(len(wheel_abis(load_target(name))) == 1 for name in (*table, "linux-arm64"))
    systems = [tag.removesuffix("_x86_64") for tag in platform_tag("x86_64").split(".")]
    assert f"({', '.join(f'`{system}`' for system in systems)})" in PAGE


if WHOLE:

    def test_what_needs_no_board_works(tmp_path: Path) -> None:
        """Both builds at the level that users get, a program of one's own, and the exam and the program on an emulated board."""
        require("aarch64-linux-gnu-gcc", "qemu-aarch64")
        (tmp_path / "examples").symlink_to(ROOT / "examples")
        (tmp_path / "app.c").write_text(re.findall(r"^```c\n(.*?)^```$", README, re.M | re.S)[0], encoding="utf-8")
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        commands = [command for command in COMMANDS if command.startswith(("edgec build", "aarch64-linux-gnu-gcc"))]
        assert len(commands) == 4
        for command in (*commands, "qemu-aarch64 ./app"):
            done = subprocess.run(["sh", "-ec", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            assert "--wheel" not in command or "digits-wheel/dist/digits-1.0.0+m" in done.stdout
        assert "logits[0]" in done.stdout and wheel_of(tmp_path / "digits-wheel", "aarch64").stat().st_size > 10_000
