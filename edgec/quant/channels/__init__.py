"""Channels and features of values, and what evens them."""
