"""Reports of what benches found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edgec.reports import DEFAULT, Report, report_results


def report(
    results: str | Path | Sequence[str | Path], out: str | Path | Sequence[str | Path] = DEFAULT, *, force: bool = False
) -> Report:  # fmt: skip
    """Write what bench() found to `out`, each in the form that its name ends in: .html, .md, .xml (JUnit) or .json (a Chrome trace).

    results: files that benches wrote; several are a history, of which the last run is shown. UsageError for a file that holds no results,
    and, unless forced, for an output that is one of the results, or a file that edgec did not write.
    """
    return report_results(_paths(results), _paths(out), force=force)


def _paths(given: str | Path | Sequence[str | Path]) -> list[Path]:
    return [Path(path) for path in ([given] if isinstance(given, (str, Path)) else given)]
