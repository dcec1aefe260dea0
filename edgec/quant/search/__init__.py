"""The search for the steps that help, and what effort adds."""
