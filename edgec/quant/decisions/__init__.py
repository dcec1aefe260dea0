"""A calibration's decisions: as data, as a file, and carried out on a graph."""
