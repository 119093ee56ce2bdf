from publishing.models.archives import ARCHIVE, Archive, LoadedArchive
from publishing.models.published_runs import Consent, Publication

__all__ = [
    "ARCHIVE",
    "Archive",
    "Consent",
    "LoadedArchive",
    "Publication",
]
