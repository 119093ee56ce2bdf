"""Refusals about archives and published runs."""

from functools import partial

from assay.errors import Refused

archive_refused = partial(Refused, code="archive-refused", title="The archive was not made")
load_refused = partial(Refused, code="load-refused", title="The archive was not loaded")
publication_refused = partial(Refused, code="publication-refused", title="The runs were not published")
