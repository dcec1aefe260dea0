"""Weights as integers."""
