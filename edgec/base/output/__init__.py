"""Writing results: nothing is ever half there, and nothing is lost that edgec did not write."""

from edgec.base.output.directory import check_destination, complete_directory
from edgec.base.output.failed import FAILED, check_failed, failed_beside, keep_aside
from edgec.base.output.files import check_outputs, replace_file, write_file, write_new
from edgec.base.output.foreign import MARKER

__all__ = [
    "FAILED",
    "MARKER",
    "check_destination",
    "check_failed",
    "check_outputs",
    "complete_directory",
    "failed_beside",
    "keep_aside",
    "replace_file",
    "write_file",
    "write_new",
]
