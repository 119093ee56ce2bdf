"""Reading the files that a campaign brings: dumps, topics, labels. Kernels: no Django in here.

sources        opens a file, packed or not, and tells by its content what it is
dump           cuts a dump file into chunks of whole rows, and says where a broken one breaks
stackexchange  turns chunks of a dump into lines for the staging tables
indexes        what a formula index is, and where its rows begin
formulas       turns chunks of it into lines for COPY; formula_copy puts them into the corpus
jsonl          the same for documents of any other lab, one JSON object a line
pool           does that on every core, in order
copy           staging tables, and how their rows get into the corpus
topics         topic files and label files; ntcir_topics those of NTCIR
"""
