"""The command line: one module per verb. Errors are printed once, without a traceback, and choose the exit code."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence

from edgec.cli import build, compare, inspect, quantize, run, targets
from edgec.cli.console import Console
from edgec.errors import EdgecError
from edgec.version import __version__

VERBS = {"build": build, "quantize": quantize, "run": run, "compare": compare, "inspect": inspect, "targets": targets}
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code: 0 ok, 1 a gate failed, 2 usage, 3 model, 4 toolchain, 5 device, 70 our bug."""
    options = _parser().parse_args(arguments)
    console = Console(json=options.json, quiet=options.quiet, verbose=options.verbose)
    try:
        return int(options.act(options, console) or 0)
    except EdgecError as error:
        console.error(error)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except Exception:
        return _bug(arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="edgec", description="Turns a trained ONNX model into code that a device runs by itself.")
    parser.add_argument("--version", action="version", version=f"edgec {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, module in VERBS.items():
        summary = (module.__doc__ or "").split("\n")[0]
        verb = verbs.add_parser(name, help=summary, description=summary)
        verb.add_argument("--json", action="store_true", help="print JSON alone on standard output")
        verb.add_argument("-v", "--verbose", action="store_true", help="say more")
        verb.add_argument("-q", "--quiet", action="store_true", help="say nothing but results and errors")
        module.declare(verb)
        verb.set_defaults(act=module.act)
    return parser


def _bug(arguments: Sequence[str] | None) -> int:
    """An error that no user can cause: write the report file that helps us mend it, and say so."""
    with tempfile.NamedTemporaryFile("w", prefix="edgec-bug-", suffix=".json", delete=False, encoding="utf-8") as stream:
        facts = {
            "version": __version__,
            "python": platform.python_version(),
            "system": platform.platform(),
            "arguments": list(sys.argv[1:] if arguments is None else arguments),
            "traceback": traceback.format_exc().splitlines(),
        }
        json.dump(facts, stream, indent=1)
    last = traceback.format_exc().strip().splitlines()[-1]
    print(f"error: a bug of edgec's own: {last}\n  please send us {stream.name}", file=sys.stderr)
    return EdgecError.exit_code


if __name__ == "__main__":
    sys.exit(main())
