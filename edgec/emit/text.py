"""Package texts: templates of templates/package and hand-written sources of runtimes/, with the package's name in them."""

from __future__ import annotations

import re
from functools import cache

import jinja2

from edgec.resources import resource


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(resource("templates", "package")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def render_template(template: str, context: dict[str, object]) -> bytes:
    """A template of templates/package, filled in."""
    return _environment().get_template(template).render(context).encode()


def runtime(path: str, name: str) -> bytes:
    """A source of runtimes/ with `NAME_` and `MACRO_` made the package's own prefixes."""
    text = resource("runtimes", path).read_text(encoding="utf-8")
    return re.sub(r"\bMACRO(?=_)", name.upper(), re.sub(r"\bNAME(?=_|\b)", name, text)).encode()
