"""What edgec does: one file for each verb, with the Python function of its name, which cli only calls and prints."""
