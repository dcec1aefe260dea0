"""What rooms that know nothing of each other tell: frozen facts, and the files they are kept in."""
