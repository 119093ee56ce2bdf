"""Evaluation protocols: the schema, the loader of TOML files, their description in words, and the shipped files."""
