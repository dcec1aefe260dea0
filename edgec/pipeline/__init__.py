"""A build as its settings ask for it: refused or planned, its model read, its package made. Rooms below see facts, never a config."""
