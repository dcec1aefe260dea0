"""Of several calibrations that follow from the same decisions the one to end with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from edgec.quant.decisions.calibration import Calibration
from edgec.quant.fits.fit import Fit
from edgec.quant.fits.fitted import Fitted
from edgec.quant.trials.scores import scored
from edgec.quant.trials.shaken import shaken_trial
from edgec.quant.trials.trial import Trial

SEEN = 128  # samples at most that choose
Fitter = Callable[[Fit], Fitted]


def least_harmful(made: Fitter, plain: Fitter, whole: Callable[[], Fit], folds: Sequence[Fit], trial: Trial) -> Fitted:
    """What is made of all samples, unless plain min-max is better by all of them together: then the best of all, folds included.

    Where a few samples are far louder than the others, what follows from one more of them may be nothing like what was judged.
    """

    def lost(one: Fitted) -> float:
        return float(scored([trial(one.calibration)]).shares.sum())

    found = [made(whole()), plain(whole())]
    errors = list(map(lost, found))
    if not errors[1] < errors[0]:
        return found[0]
    found += map(made, folds)
    errors += map(lost, found[2:])
    return found[int(np.argmin(errors))]


def luckiest(ends: Sequence[Calibration], trial: Trial) -> Calibration:
    """The best for the mean sample, of those that are no worse than the first for all together.

    ends: fitted to all samples first, then to most of them. Which way a number is rounded is luck, and may be good luck for all samples:
    of a network with few numbers one fit is half a decibel better than the next, for samples that none was fitted to as well.
    """
    trial = shaken_trial(trial)
    found = [scored([trial(one)]) for one in ends]
    fair = [place for place, score in enumerate(found) if score.shares.sum() <= found[0].shares.sum()]
    return ends[max(fair, key=lambda place: found[place].ratio)]
