"""The archive of a track: one ZIP file with everything from which its pools, qrels and scores can be computed again."""
