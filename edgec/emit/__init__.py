"""Program -> the files of a package: C sources, build files, the exam and the manifest."""

from edgec.emit.constants import layout_constants
from edgec.emit.exam import ExamData, emit_exam
from edgec.emit.manifest import add_facts, finish_manifest
from edgec.emit.package import ABI_VERSION, INT8_CONTRACT, emit_sources

__all__ = ["ABI_VERSION", "INT8_CONTRACT", "ExamData", "add_facts", "emit_exam", "emit_sources", "finish_manifest", "layout_constants"]
