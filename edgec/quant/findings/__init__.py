"""Where a quantized graph loses what the float graph knows, in words and figures."""
