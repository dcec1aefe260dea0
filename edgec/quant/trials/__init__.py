"""What a calibration is worth on samples that it was not fitted to, and the steps that are judged by it."""
