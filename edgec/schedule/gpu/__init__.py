"""What runs on GPUs, and how: tiles by their cost, which calls go there, where they wait, what is stored as halves."""
