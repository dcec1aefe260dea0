"""What names of reports end in, for whoever tells people of them without writing one."""

from __future__ import annotations

from pathlib import Path

SUFFIXES = (".html", ".md", ".xml", ".json")  # a page, Markdown, JUnit, a Chrome trace
DEFAULT = Path("report.html")
