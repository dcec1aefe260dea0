"""Data files as strangers made them: whatever is wrong with one becomes one clear error, and nothing in it is run."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile, is_zipfile

import numpy as np
from PIL import Image

from edgec.base.errors import UsageError

MOST_BYTES = 1 << 33  # of a file's arrays, unpacked; a few kilobytes of zeros can claim as much
# suffix -> Pillow's name of the format. No others are asked: Pillow starts Ghostscript for a picture that is PostScript, whatever its name
FORMATS = {
    ".jpg": "JPEG", ".jpeg": "JPEG", ".png": "PNG", ".bmp": "BMP", ".webp": "WEBP", ".ppm": "PPM", ".pgm": "PPM", ".gif": "GIF",
    ".tif": "TIFF", ".tiff": "TIFF",
}  # fmt: skip
_NO_ARRAYS = ("pickle", "Python objects", "magic string")  # what numpy says of objects, and of files that are not its own
_HINT = "give an .npz or .npy file that numpy wrote"


def read_array_file(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    """The array of an .npy file, mapped and not read, or those of an .npz by name. UsageError for anything else, pickled data too."""
    try:
        if is_zipfile(path):
            with ZipFile(path) as archive:
                return _members(archive, path)
        array: np.ndarray = np.lib.format.open_memmap(path, mode="r")
        return array
    except UsageError:
        raise
    except Exception as error:  # numpy, zipfile and zlib have many words for a damaged file
        plain = not any(word in str(error) for word in _NO_ARRAYS)
        what = (str(error) or "it is damaged") if plain else "it holds no plain arrays"
        raise UsageError(f"cannot read: {what}", where=str(path), hint=_HINT) from error


def _members(archive: ZipFile, path: Path) -> dict[str, np.ndarray]:
    unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > MOST_BYTES:
        raise UsageError(f"unpacks to {unpacked} bytes, {MOST_BYTES} at most", where=str(path), hint="give it as several files")
    found = {}
    for member in archive.infolist():
        with archive.open(member) as stream:
            found[member.filename.removesuffix(".npy")] = np.lib.format.read_array(stream, allow_pickle=False)
    return found


def pictures_in(folder: Path) -> list[Path]:
    """Every picture of the folder, by name."""
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in FORMATS)


def read_picture(path: Path) -> Image.Image:
    """The picture, decoded. UsageError when it cannot be, or has more pixels than a picture can have."""
    try:
        with Image.open(path, formats=sorted(set(FORMATS.values()))) as picture:
            picture.load()
            return picture
    except Exception as error:  # each of Pillow's decoders has its own words
        raise UsageError(f"not a picture: {error}", where=str(path), hint=f"give one of {', '.join(sorted(FORMATS))}") from error
