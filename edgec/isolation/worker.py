"""The worker's side: requests in lines of JSON on standard input, messages of edgec/ir/archive.py on standard output."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import traceback
from base64 import b64decode
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgec.base.budget import Budget, check_tensors, exceeded, spending
from edgec.base.errors import EdgecError
from edgec.base.part import Part
from edgec.frontend import load_model
from edgec.frontend.file.outline import outline
from edgec.ir.archive import Sender
from edgec.ir.liveness import live_bytes
from edgec.ir.types import Symbol
from edgec.passes import optimize
from edgec.passes.codes import decode_weights

KILLED = 128  # plus the signal that ended a fork: the code that the worker itself ends with


def main() -> None:
    """Serve until standard input ends."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if sys.platform == "win32" or not hasattr(os, "fork"):
            serve(request, again=False)
            return
        child = os.fork()
        if not child:
            try:
                _limit(request["budget"])
                serve(request, again=True)
                os._exit(0)
            finally:
                os._exit(EdgecError.exit_code)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code:
            os._exit(code if code > 0 else KILLED - code)


def _limit(budget: dict[str, int]) -> None:
    """Memory that this process may have, and seconds after which the system ends it, whatever it is at."""
    import resource
    import signal

    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS  # what is reserved and never written does not count
    with contextlib.suppress(ValueError, OSError):  # macOS may refuse
        most = resource.getrlimit(kind)[1]
        limit = budget["memory"] if most == resource.RLIM_INFINITY else min(budget["memory"], most)
        resource.setrlimit(kind, (limit, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, budget["seconds"] + 1)


def serve(request: dict[str, Any], again: bool) -> None:
    """Do what is asked for; whatever goes wrong is a message too."""
    os.chdir(request["folder"])
    send = Sender(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)  # whatever libraries print is no message
    log = logging.getLogger("edgec")
    log.setLevel(request["level"])
    log.addHandler(Teller(send))
    try:
        TASKS[request["task"]](request, send)
    except EdgecError as error:
        _tell(send, error)
    except MemoryError:
        _tell(send, exceeded("memory", f"reading it takes more than {request['budget']['memory']:,} bytes"))
    except Exception:
        send(kind="bug", text=traceback.format_exc())
    send(kind="end", again=again)


def _tell(send: Sender, error: EdgecError) -> None:
    problems = [[item.what, item.where, item.hint] for item in error.problems]
    send(kind="error", family=type(error).__name__, summary=error.summary, where=error.where, hint=error.hint, problems=problems)


class Teller(logging.Handler):
    """Remarks of the compiler's rooms, as messages."""

    def __init__(self, send: Sender) -> None:
        super().__init__()
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        self._send(kind="log", name=record.name, level=record.levelno, text=record.getMessage())


def read(request: dict[str, Any], send: Sender) -> None:
    """The graph as imported, with the pre-processing where it is asked for, and as optimized."""
    shapes = {name: [Symbol(*dim) if isinstance(dim, list) else dim for dim in dims] for name, dims in request["shapes"].items()}
    with spending(Budget(**request["budget"])):
        imported = load_model(Path(request["path"]), shapes, part=Part(**request["part"]), operators=b64decode(request["operators"]))
        original = imported.graph
        if request["preprocess"] is not None:
            from edgec.quant.given.preprocess import Preprocess, fuse  # loads more than most models need

            original = fuse(original, Preprocess.parse(request["preprocess"]))
        fixed = [[name, array.dtype.name, array.shape, array.reshape(-1).tolist()] for name, array in imported.fixed.items()]
        told = {"notes": imported.notes, "origin": dict(imported.origin), "misread": imported.misread, "fixed": fixed}
        send(kind="imported", graph=original, calls=[asdict(call) for call in imported.calls], **told)
        graph = original.copy()
        if not request["codes"]:
            decode_weights(graph)
        optimize(graph)
        check_tensors(*live_bytes(graph))
        send(kind="optimized", graph=graph)


def sketch(request: dict[str, Any], send: Sender) -> None:
    """What the file says of itself."""
    found = outline(Path(request["path"]))
    send(kind="outline", operators=found.operators, inputs=found.inputs, outputs=found.outputs)


TASKS: dict[str, Callable[[dict[str, Any], Sender], None]] = {"read": read, "outline": sketch}
