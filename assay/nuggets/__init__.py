"""Nuggets: the facts that generated answers should contain, and which answers contain them."""
