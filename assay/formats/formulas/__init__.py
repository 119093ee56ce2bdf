"""Reads formula indexes and maps of visual ids.

indexes  the kinds of formula index
chunks   converts chunks of an index to lines for COPY
files    reads ids, places and visual ids as arrays
rows     reads LaTeX and MathML row by row
work     makes SLT strings and keys of rows
"""
