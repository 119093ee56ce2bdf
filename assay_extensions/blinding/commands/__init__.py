"""The commands `assay blind` and `assay unblind`."""
