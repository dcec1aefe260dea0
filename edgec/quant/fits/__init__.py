"""What some of the samples say, and the calibrations that follow from it."""
