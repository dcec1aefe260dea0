"""A calibration with what it was fitted to, so that more can be made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from edgec.quant.decisions.calibration import Calibration
from edgec.quant.fits.fit import Fit
from edgec.quant.given.options import Samples
from edgec.quant.trials.steps import Choice


@dataclass(frozen=True)
class Start:
    """What the steps made a calibration of, to go through them again.

    fit: what the samples say, gathered when it is asked; choice: of the steps; evened: the same, if it equalizes anything, and where all
    is equalized; finish: what is done to each calibration then.
    """

    fit: Callable[[], Fit]
    choice: Choice
    evened: Sequence[Choice]
    finish: Callable[[Calibration], Calibration]


@dataclass(frozen=True)
class Fitted:
    """A calibration, the samples that it was fitted to, how many these are, and where it comes from, if that can be done anew.

    judges: the samples that will judge it, and how many; what is fitted to how far samples go heeds these as well.
    """

    calibration: Calibration
    samples: Samples
    count: int
    start: Start | None = None
    judges: tuple[Samples, int] | None = None

    def remade(self, calibration: Calibration) -> Fitted:
        """Another calibration that was fitted to the same samples."""
        return replace(self, calibration=calibration)

    def again(self, fit: Fit, choice: Choice) -> Fitted:
        """The steps gone through with another choice, or by what another fit of the same samples says."""
        assert self.start is not None
        start = replace(self.start, fit=fit.anew, choice=choice)
        return replace(self, calibration=start.finish(fit.calibration(choice)), start=start)
