"""Reads qrels (`reader`, with the fast path of `fast` and the tables of `tables`) and exports them (`exports`)."""
