"""Parts of archives that extensions add: files of leaderboards, which they verify, write and load."""

from dataclasses import dataclass

from assay.extensions import Point, Reference, Registry

ANALYSES = "analyses"  # the part whose files the record of a leaderboard lists


@dataclass(frozen=True, kw_only=True)
class ArchivePart(Point):
    """Files of the leaderboards in archives of tracks.

    Attributes:
        verify: reference of `verify(contents, board, name) -> Finding`, which checks the file of a name.
        gather: reference of `gather(board, archive, runs)`, which returns a function for each file of a leaderboard;
            it returns the text of the file. `runs` are the numbers of runs by their ids. Only sites import it.
        load: reference of `load(loading, board, record, evaluations)`, which stores the files of the record of a
            leaderboard. Only sites import it.
    """

    noun = "archive part"

    verify: Reference
    gather: str
    load: str


ARCHIVE_PARTS = Registry(ArchivePart, [])
