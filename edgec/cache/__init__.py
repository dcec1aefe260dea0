"""What builds can use again: entries that are named by all that they were made from, in a folder of the user's own.

An entry is believed when its bytes have the hash that it begins with, and no reader of entries runs anything. Nothing depends on the
cache: what is missing, damaged or not to be had is made anew.
"""

from edgec.cache.folder import cache_folder
from edgec.cache.store import NOTHING, Store, opened

__all__ = ["NOTHING", "Store", "cache_folder", "opened"]
