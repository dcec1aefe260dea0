"""The forms of packages that application developers expect: what each adds to the C package."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from edgec.emit.apps.android import android_files
from edgec.emit.apps.app import App
from edgec.emit.apps.swift import swift_files
from edgec.emit.apps.web import web_files

Files = Mapping[str, bytes]

# Target.form -> path -> content of what is added to the package's files
FORMS: dict[str, Callable[[App, Files], dict[str, bytes]]] = {"android": android_files, "swift": swift_files, "web": web_files}


def form_files(form: str, app: App, files: Files) -> dict[str, bytes]:
    """What the form adds to (or puts in place of) the C package's `files`; nothing for a plain package."""
    return FORMS[form](app, files) if form else {}
