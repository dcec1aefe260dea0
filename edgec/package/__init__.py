"""What a package says of itself, and how it is run: the one reader of what others wrote, for every room that opens one."""

from edgec.package.package import GPU, Package, as_package
from edgec.package.runner import Runner, Tensor, fitting

__all__ = ["GPU", "Package", "Runner", "Tensor", "as_package", "fitting"]
