"""The mutants of the seeds that come at once: what `make test` has time for."""

from __future__ import annotations

from tests.fuzz import mutants
from tests.fuzz.frame import Trial
from tests.fuzz.seeds import few_seeds


def make() -> Trial:
    return mutants.make(few_seeds)
