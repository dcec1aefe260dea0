"""What stays in float32, or gets 16 bits: where it pays, where a goal needs it."""
