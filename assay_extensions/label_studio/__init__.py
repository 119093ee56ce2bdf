"""Label Studio's labeling configurations and tasks, read and written.

Choices, ratings, numbers and texts are questions about a row; a pairwise control gives votes as `assay preferences`
reads them. Results name a control (`from_name`) and have a value that depends on its kind.
"""
