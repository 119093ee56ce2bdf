"""The version of Assay: the one place that states it."""

VERSION = "0.1.0"
