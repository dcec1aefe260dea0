"""What shaders of template kernels may divide their work into: tiles as frozen tables of numbers, and the limits that all GPUs grant."""
