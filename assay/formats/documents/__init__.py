"""Reads the files of a collection and turns them into lines for COPY into PostgreSQL.

- `sources`: detects what a file contains
- `dump`: cuts a file into chunks of complete rows, and locates the error in a broken file
- `stackexchange`: converts chunks of Stack Exchange dumps
- `forum`: converts chunks of discussion forums in BOLT's XML
- `trec`: converts chunks of documents in TREC's SGML
- `articles`: converts articles in XHTML with MathML
- `tables`: recognizes tables of documents; `table_rows` converts them
- `jsonl`: converts chunks of JSON lines, the form for any other collection
- `indexes`: recognizes formula indexes; `index_rows` converts them
- `batch`: what a chunk becomes: lines for COPY, and counts of rows taken and skipped
"""
