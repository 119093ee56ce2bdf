"""Reads and writes files.

- `compression`: decompresses files, with one set of limits
- `tokens`: reads words and numbers of a text as arrays
- `reports`: the report on a checked file
- `manifest`: the CSV file that names runs with their team, tag and kind
- `spreadsheet`: CSV that is safe to open in a spreadsheet runs, qrels, topics, documents, formulas: the formats of each
"""
