"""Program -> the files of a package: C sources, build files, the exam and the manifest."""

from edgec.emit.constants import layout_constants
from edgec.emit.exam import ExamData, emit_exam
from edgec.emit.package import ABI_VERSION, INT8_CONTRACT, emit_sources

__all__ = ["ABI_VERSION", "INT8_CONTRACT", "ExamData", "emit_exam", "emit_sources", "layout_constants"]
