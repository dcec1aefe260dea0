"""Which operators and values of a graph there are to quantize, and what they cost."""
