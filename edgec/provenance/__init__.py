"""Where a package comes from and that nobody changed it: the model's card, hashes of everything, signatures, and their verification."""
