"""Emitted texts: templates of templates/ filled in, and hand-written sources of runtimes/ with the package's name in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import jinja2

from edgec.base.resources import resource


@cache
def _environment(folder: str) -> jinja2.Environment:
    """The templates of templates/`folder`; an unknown name is an error, never an empty string."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(resource("templates", folder)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # the output is C
    )


def fill(folder: str, template: str, context: Mapping[str, object]) -> str:
    """templates/FOLDER/TEMPLATE, filled in."""
    return _environment(folder).get_template(template).render(context)


def render_template(template: str, context: Mapping[str, object]) -> bytes:
    """A template of templates/package, filled in."""
    return fill("package", template, context).encode()


def runtime(path: str, name: str) -> bytes:
    """A source of runtimes/ with `NAME_` and `MACRO_` made the package's own prefixes."""
    text = resource("runtimes", path).read_text(encoding="utf-8")
    return re.sub(r"\bMACRO(?=_)", name.upper(), re.sub(r"\bNAME(?=_|\b)", name, text)).encode()
