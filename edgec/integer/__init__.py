"""match: Q/DQ Graph -> integer operators, by the clauses of docs/int8.md; what can be one is asked here before Q/DQ exist, too."""

from edgec.integer.match import Matched, match

__all__ = ["Matched", "match"]
