"""Reads and writes files.

compression  unpacks files, with one set of limits
lines        turns blocks of a text into chunks of complete lines
tokens       reads words and numbers of a text as arrays
reports      the report on a checked file
runs, qrels, topics, documents, formulas: the formats of each
"""
