"""What a model file holds and says of itself, before any operator is looked at: read, checked, cut to the part that is wanted, ordered."""
