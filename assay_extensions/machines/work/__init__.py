"""The units of a pool or of a batch: what is asked about them, and where the answers go."""
