"""The forms of packages that application developers expect: what each adds to the C package."""

from __future__ import annotations

from collections.abc import Callable

from edgec.apps.android import android_files
from edgec.apps.app import App
from edgec.apps.micro import micro_files
from edgec.apps.swift import swift_files
from edgec.apps.web import web_files
from edgec.package.draft import Draft

# Target.form -> the package with what the form adds, or puts in place of files
FORMS: dict[str, Callable[[App, Draft], Draft]] = {
    "android": android_files,
    "micro": micro_files,
    "swift": swift_files,
    "web": web_files,
}


def add_form(form: str, app: App, draft: Draft) -> Draft:
    """The C package with what the form adds; as it is for a plain package."""
    return FORMS[form](app, draft) if form else draft
