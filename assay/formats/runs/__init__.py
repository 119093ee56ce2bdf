"""Reads runs: from the bytes of a file to columns and a report.

- `reader`: the entry point, `check_run`; its docstring lists the steps
- `rules`: the formats of runs, by the names that protocols give them, and checks of a run as a whole; `formulas`
  checks formula ids
- `text`: cuts a text into lines, and reads runs in lines; `rows` reads lines that are not regular, and says what counts
  as a name, a rank and a score
- `nested`: reads runs in JSON, as ranx writes them
- `xml`: reads runs in XML; `ntcir` and `bolt` turn their elements into rows, on the base class of `elements`
- `columns`: the sorted arrays of a run, and the file that stores them
- `timing`: the file of seconds per topic
- `examples`: describes the accepted runs for the submission page
"""
