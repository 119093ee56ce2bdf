"""Refusals about data agreements."""

from assay.errors import Refused
from tracks.models import AgreementVersion, Track


class AgreementRefused(Refused):
    title = "The data agreement was not changed"


class NothingChanged(AgreementRefused):
    def __init__(self, version: AgreementVersion) -> None:
        super().__init__(
            f"The text is the same as that of version {version.number}. Change it, then publish."
        )


class NoText(AgreementRefused):
    def __init__(self) -> None:
        super().__init__("The text is empty. Write it, then publish; or withdraw the agreement.")


class VersionChanged(AgreementRefused):
    """Another version came into force after the page was opened."""

    title = "Another version is in force"

    def __init__(self, track: Track) -> None:
        state = f"Version {track.agreement.number} is in force now" if track.agreement else "It was withdrawn"
        super().__init__(f"The data agreement changed after you opened the page. {state}: read it first.")


class AgreementNeeded(Refused):
    """A person wants what only those may do who have accepted the agreement."""

    title = "Accept the data agreement first"

    def __init__(self, track: Track) -> None:
        super().__init__(
            f"{track} has a data agreement. Read and accept it on the page of the track, then try again."
        )
