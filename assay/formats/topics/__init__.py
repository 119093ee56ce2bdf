"""Reads topic files and label files; `codes` reads only the codes of topics."""
