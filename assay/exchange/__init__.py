"""Test collections in the forms of other tools: BEIR, Hugging Face, ir_datasets, and plain files of Assay's names.

`registry` has the one list of forms, each with its reader and its writer. The command, the pages and the API read it.
"""
