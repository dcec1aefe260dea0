"""The program `edgec`: errors are printed once, without a traceback, and choose the exit code; a signal leaves nothing behind."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence

from edgec.base.signals import end_cleanly
from edgec.cli.bug import died, failed
from edgec.cli.guard import guard
from edgec.isolation.process import start

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code: 0 ok, 1 a gate failed, 2 usage, 3 model, 4 toolchain, 5 device, 70 our bug."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        end_cleanly()
        if arguments is None and (ended := guard(words)) is not None:  # only then is this process the program's own
            return ended if isinstance(ended, int) else died(words, ended)
        _print_anything()
        # numpy's products are small beside what ONNX Runtime computes, whose threads its own would hold up
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        if {"inspect", "quantize"} & set(words[:1]):
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
        return failed(words)


def _print_anything() -> None:
    """Let letters that a console lacks (Windows' have few) be spelled out, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
