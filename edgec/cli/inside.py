"""Verbs inside of a verb: each with a page of its own in the help, and every flag before or after its name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from edgec.base.errors import UsageError, did_you_mean


class Inside(argparse._SubParsersAction):  # type: ignore[type-arg]
    """What stands before the name of such a verb goes on to count, where argparse's own would begin anew."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:  # fmt: skip
        name, *words = list(values or ())
        setattr(namespace, self.dest, name)
        _, rest = self.choices[name].parse_known_args(words, namespace)
        if rest:
            self.choices[name].error(f"unrecognized arguments: {' '.join(rest)}")


def pages(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of the verbs inside of one, by name."""
    return {name: page for action in parser._actions if isinstance(action, Inside) for name, page in action.choices.items()}


def check_name(action: argparse.Action, name: Any) -> None:
    """UsageError for a verb that is not inside of this one."""
    if isinstance(action, Inside) and name not in action.choices:
        raise UsageError(f"unknown action {name!r}", hint=did_you_mean(str(name), action.choices))
