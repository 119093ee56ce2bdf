"""The keys of a protocol file that this version of Assay checks and shows, but does not carry out.

`description` and the reference page of protocol keys take their sentences from here. A key that is neither here nor
used by other code fails a test.
"""

from collections.abc import Mapping
from types import MappingProxyType

# Key -> what Assay does instead. The name of a table includes all its keys.
NOT_CARRIED_OUT: Mapping[str, str] = MappingProxyType(
    {
        "published": "These figures are for you to compare with; Assay does not check them.",
    }
)
