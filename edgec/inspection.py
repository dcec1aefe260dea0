"""What a model or a package holds, as facts and as tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rich.table

from edgec import pipeline
from edgec.cli.console import table
from edgec.config import BuildConfig
from edgec.ir.graph import Graph
from edgec.lower import LowerOptions, lower
from edgec.lower.plan import plan
from edgec.package import Package
from edgec.program.program import Program
from edgec.targets import load_target


@dataclass(frozen=True)
class Inspection:
    """Facts for machines, tables for people."""

    facts: dict[str, Any]
    tables: list[rich.table.Table | str]
