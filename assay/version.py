"""The version of Assay: the one place that states it."""

VERSION = "0.2.0.dev0"
