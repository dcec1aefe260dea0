"""Program -> the files of a package: C sources, build files, the exam and the manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgec.base.lazy import parts

if TYPE_CHECKING:
    from edgec.emit.constants import layout_constants
    from edgec.emit.exam import ExamData, emit_exam
    from edgec.emit.package import ABI_VERSION, INT8_CONTRACT, emit_sources

__all__ = ["ABI_VERSION", "INT8_CONTRACT", "ExamData", "emit_exam", "emit_sources", "layout_constants"]

_HOMES = {
    "ABI_VERSION": "package",
    "ExamData": "exam",
    "INT8_CONTRACT": "package",
    "emit_exam": "exam",
    "emit_sources": "package",
    "layout_constants": "constants",
}
__getattr__ = parts(__name__, _HOMES)
