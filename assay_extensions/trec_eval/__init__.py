"""trec_eval 10.0 for scripts that call it: the same options, files, measures, output lines and exit statuses.

Where 10.0 reads memory that it never wrote, or crashes, this package computes what the manual of trec_eval says;
docs/reference/measures.md lists these cases.
"""
