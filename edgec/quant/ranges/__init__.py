"""From the values that samples had to ranges, scales and zero points."""
