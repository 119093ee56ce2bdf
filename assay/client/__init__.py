"""A client of the API of a site. It needs httpx: `pip install assay[client]`."""
