"""The command line's grammar: one module per verb, and the flags that all of them take."""

from __future__ import annotations

import argparse
import errno
import logging
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

from edgec.base.errors import EdgecError, UsageError, did_you_mean
from edgec.base.version import __version__
from edgec.cli.console import Console
from edgec.cli.inside import check_name, pages

# what each does; its module, whose docstring this is, is loaded when it is asked for, and what it computes with when it acts
VERBS = {
    "init": "write commented settings, an inventory of boards and a workflow for a model into this folder",
    "build": "optimize, quantize, emit and compile a model into a package, and examine it",
    "quantize": "calibrate and quantize a model into a standard INT8 ONNX file (QuantizeLinear / DequantizeLinear)",
    "run": "run a package over the arrays of an .npz file, here or through the target's emulator",
    "compare": "compare a package with its model over data: agreement, accuracy, signal-to-noise ratio, largest error; layer by layer",
    "inspect": "show what a model or a package holds: operators, MACs, parameters, memory, and all that is not supported",
    "verify": "check that a package is what edgec built: every file, and the signature",
    "devices": "list, check, show and add the boards of an inventory",
    "deploy": "bring a package to boards, prove it there by its exam, and make it the version in use; or roll back",
    "bench": "measure packages or models on boards, check promises about them, and write a report",
    "tune": "measure on a board which variants of kernels compute a model's layers fastest, and record it for builds",
    "report": "write what edgec bench found as a page, Markdown, JUnit or a Chrome trace",
    "cache": "show how much earlier builds left for later ones, or remove it",
    "targets": "list the targets that edgec builds for",
    "completion": "print what completes these words in bash, zsh or fish",
}
EXIT_CODES = (
    "exit codes: 0 ok, 1 a gate failed, 2 usage, 3 model not supported, 4 toolchain, 5 device, 70 a bug of edgec's own, 130 interrupted"
)


class Parser(argparse.ArgumentParser):
    """A parser whose complaints look like all other errors."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=self._hint(message))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        check_name(action, value)
        super()._check_value(action, value)

    def _hint(self, message: str) -> str:
        """The nearest flag to an unknown one, else how to see what there is."""
        word = next((word for word in message.split() if word.startswith("--")), "").partition("=")[0]
        if message.startswith("unrecognized") and word:
            hint = did_you_mean(word, self._option_string_actions)
            return hint if hint.startswith("did") else f"see {self.prog} --help"
        return f"see {self.prog} --help"


def act(arguments: Sequence[str] | None) -> int:
    """Parse and run one verb; its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    console = Console(json="--json" in words)
    try:
        options = parse(words)
        console = Console(json=options.json, quiet=options.quiet, verbose=options.verbose)
        with _log(logging.DEBUG if options.verbose else logging.WARNING):
            return int(options.act(options, console) or 0)
    except EdgecError as error:
        return _said(console, error)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return _said(
            console, UsageError("no file can have so long a name", where=f"{str(error.filename)[:40]}...", hint="give a shorter one")
        )


def _said(console: Console, error: EdgecError) -> int:
    console.error(error)
    return error.exit_code


@contextmanager
def _log(level: int) -> Iterator[None]:
    """Remarks of the compiler's rooms on standard error."""
    handler, log = logging.StreamHandler(), logging.getLogger("edgec")
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    log.addHandler(handler)
    log.setLevel(level)
    try:
        yield
    finally:
        log.removeHandler(handler)


def grammar(known: Collection[str]) -> tuple[Parser, dict[str, Parser]]:
    """The parser, and those of the verbs by name; the flags of the `known` ones are declared."""
    parser = Parser(prog="edgec", description="Turns a trained ONNX model into code that a device runs by itself.", epilog=EXIT_CODES)
    parser.add_argument("--version", action="version", version=f"edgec {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=Parser)
    for name, summary in VERBS.items():
        verb = verbs.add_parser(name, help=summary, description=summary, epilog=EXIT_CODES, allow_abbrev=False)
        _declare_common(verb)
        if name in known:
            module = import_module(f"edgec.cli.{name}")
            module.declare(verb)
            for page in pages(verb).values():
                _declare_common(page)
            verb.set_defaults(act=module.act)
    return parser, verbs.choices


def _declare_common(parser: argparse.ArgumentParser) -> None:
    """The flags of every verb."""
    parser.add_argument("--json", action="store_true", help="print JSON alone on standard output")
    parser.add_argument("-v", "--verbose", action="store_true", help="say more, such as which rewrites were applied")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but results and errors")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The options of the verb; UsageError for what is not understood."""
    first = next((word for word in words if not word.startswith("-")), "")
    parser, verbs = grammar((first,))
    if first and first not in VERBS:
        raise UsageError(f"unknown verb {first!r}", hint=did_you_mean(first, VERBS))
    options, rest = parser.parse_known_args(words)
    if options.verb is None:
        raise UsageError("a verb is needed", hint=f"one of {', '.join(VERBS)}; see edgec --help")
    if rest:
        verbs[options.verb].error(f"unrecognized arguments: {' '.join(rest)}")
    return options
