"""A process of its own, with a limit on its memory and time, for all that reads strangers' bytes: import, folding, optimization."""
