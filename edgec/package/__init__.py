"""What a package says of itself, and how it is run: the one reader of what others wrote, for every room that opens one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgec.base.lazy import parts

if TYPE_CHECKING:
    from edgec.package.package import GPU, Package, as_package
    from edgec.package.runner import Runner, Tensor, fitting, sets_of

__all__ = ["GPU", "Package", "Runner", "Tensor", "as_package", "fitting", "sets_of"]

_HOMES = {
    "GPU": "package",
    "Package": "package",
    "as_package": "package",
    "Runner": "runner",
    "Tensor": "runner",
    "fitting": "runner",
    "sets_of": "runner",
}
__getattr__ = parts(__name__, _HOMES)
