"""Fuzzers: random models and damaged ones, forever, each trial by its seed and number. `python -m tests.fuzz` runs them."""
