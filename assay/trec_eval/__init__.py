"""trec_eval 10.0, for who has scripts that call it: the same options, files, measures, lines and exit statuses.

Where 10.0 is at fault (it reads memory that it never wrote, or stops dead), ours computes what its manual says;
docs/measures.md lists these cases.
"""
