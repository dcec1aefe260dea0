"""From records to what people and programs read: HTML, Markdown, JUnit, Chrome trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgec.base.lazy import parts

if TYPE_CHECKING:
    from edgec.reports.diagnosis import check_diagnosis_form, render_diagnosis, write_diagnosis
    from edgec.reports.html import render_html
    from edgec.reports.junit import render_junit
    from edgec.reports.markdown import render_markdown
    from edgec.reports.quantization import render_quantization
    from edgec.reports.report import Report, report_results, write_report
    from edgec.reports.suffixes import DEFAULT
    from edgec.reports.trace import render_trace

__all__ = [
    "DEFAULT",
    "Report",
    "check_diagnosis_form",
    "render_diagnosis",
    "render_html",
    "render_junit",
    "render_markdown",
    "render_quantization",
    "render_trace",
    "report_results",
    "write_diagnosis",
    "write_report",
]

_HOMES = {
    "DEFAULT": "suffixes",
    "Report": "report",
    "check_diagnosis_form": "diagnosis",
    "render_diagnosis": "diagnosis",
    "render_html": "html",
    "render_junit": "junit",
    "render_markdown": "markdown",
    "render_quantization": "quantization",
    "render_trace": "trace",
    "report_results": "report",
    "write_diagnosis": "diagnosis",
    "write_report": "report",
}
__getattr__ = parts(__name__, _HOMES)
