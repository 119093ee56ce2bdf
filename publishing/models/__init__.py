from publishing.models.archives import Archive, LoadedArchive
from publishing.models.published_runs import Consent, Publication

__all__ = [
    "Archive",
    "Consent",
    "LoadedArchive",
    "Publication",
]
