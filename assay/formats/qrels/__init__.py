"""Reads qrels (`reader`, with the tables of `tables`) and exports them (`exports`)."""
