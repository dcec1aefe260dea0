"""What runs on GPUs, and how: the tiles of template kernels, chosen by their cost."""
