"""The version of edgec, and of the package interface it emits."""

__version__ = "0.1.0"
