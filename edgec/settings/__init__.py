"""Where settings come from: flags over EDGEC_* over edgec.toml over defaults, and which edgec.toml may say what."""

from edgec.settings.file import FILE, ConfigFile, find_file
from edgec.settings.resolve import resolve

__all__ = ["FILE", "ConfigFile", "find_file", "resolve"]
