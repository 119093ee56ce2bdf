"""The specialities that come with Assay, one folder each. The core imports none of them (ADR 90)."""
