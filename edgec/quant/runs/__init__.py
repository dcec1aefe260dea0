"""Runs of the float graph, and what they say."""
