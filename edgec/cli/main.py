"""The program `edgec`: errors are printed once, without a traceback, and choose the exit code; a signal leaves nothing behind."""

from __future__ import annotations

import contextlib
import io
import json
import os
import platform
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence

from edgec.base.errors import EdgecError
from edgec.base.version import __version__
from edgec.isolation.process import start

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code: 0 ok, 1 a gate failed, 2 usage, 3 model, 4 toolchain, 5 device, 70 our bug."""
    try:
        _end_cleanly()
        _print_anything()
        # numpy's products are small beside what ONNX Runtime computes, whose threads its own would hold up
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        if {"inspect", "quantize"} & set((sys.argv[1:] if arguments is None else arguments)[:1]):
            start()
        from edgec.cli.verbs import act  # it may be interrupted while it loads, too

        return act(arguments)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        nothing = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):  # what is left in them is said to nobody
            os.dup2(nothing, stream.fileno())
        return 128 + int(getattr(signal, "SIGPIPE", 13))
    except Exception:
        return _bug(list(sys.argv[1:] if arguments is None else arguments))


def _end_cleanly() -> None:
    """Let a request to terminate unwind like any exception, so that temporary folders go."""
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), _terminate)


def _print_anything() -> None:
    """Let letters that a console lacks (Windows' have few) be spelled out, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _terminate(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def _bug(arguments: list[str]) -> int:
    """An error that no user can cause: write the report file that helps us mend it, and say so."""
    lines = traceback.format_exc().splitlines()
    facts = {
        "version": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "arguments": arguments,
        "traceback": lines,
    }
    report = ""
    with (
        contextlib.suppress(OSError),
        tempfile.NamedTemporaryFile("w", prefix="edgec-bug-", suffix=".json", delete=False, encoding="utf-8") as stream,
    ):
        json.dump(facts, stream, indent=1)
        report = stream.name
    if "--json" in arguments:
        failure = {"error": lines[-1], "where": "", "hint": "a bug of edgec's own", "problems": [], "exit_code": EdgecError.exit_code}
        print(json.dumps({"schema_version": 1, **failure, "report": report}, indent=1))
    following = f"please send us {report}" if report else "\n  ".join(lines)
    print(f"error: a bug of edgec's own: {lines[-1]}\n  {following}", file=sys.stderr)
    return EdgecError.exit_code


if __name__ == "__main__":
    sys.exit(main())
