"""`assay judge` and `assay panel`."""
