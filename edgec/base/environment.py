"""What the programs that edgec starts learn of its environment: all but the secrets, which none of them needs."""

from __future__ import annotations

import os
from collections.abc import Mapping

OURS = "EDGEC_SIGN_PASSPHRASE"  # opens an encrypted private key
# parts of the names of variables that open an account or a key
SECRETS = ("PASSPHRASE", "PASSWORD", "PASSWD", "SECRET", "TOKEN", "CREDENTIAL", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY")


def child_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """For compilers, exams, emulators and adb."""
    given = os.environ if environment is None else environment
    return {name: value for name, value in given.items() if not any(word in name.upper() for word in SECRETS)}


def users_command_environment() -> dict[str, str]:
    """For a command of the user's own, such as ssh's ProxyCommand, which may need a token of its own: only edgec's secret stays here."""
    return {name: value for name, value in os.environ.items() if name != OURS}
