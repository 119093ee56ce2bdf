"""Points of archives: files of leaderboards and of tracks, and forms of test collections of other tools."""

from dataclasses import dataclass

from assay.extensions import Point, Reference, Registry

EXTENSIONS = "extensions/"  # the folder of the parts of tracks
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


@dataclass(frozen=True, kw_only=True)
class TrackPart(Point):
    """Files of an extension in archives of tracks, in the folder `extensions/NAME`, if the archive is made with them.

    Attributes:
        verify: reference of `verify(contents) -> Iterator[Finding]`, which is also called without these files.
        gather: reference of `gather(archive, names) -> Iterator[tuple[str, Iterable[str | bytes]]]`: the name of each
            file in the folder, with its content in parts. `names` are those of the assessors by account. Only sites
            import it.
        load: reference of `load(loading)`, which stores the files, if there are any. Only sites import it.
        stored: the folder of the storage for what is below `files/`; `loading.part_files` has the names there.
    """

    noun = "part of archives"

    verify: Reference
    gather: str
    load: str
    stored: str = ""


def part_file(part: str, name: str) -> str:
    """The name of a file of a `TrackPart` in an archive."""
    return f"{EXTENSIONS}{part}/{name}"


@dataclass(frozen=True)
class CollectionForm(Point):
    """A form of test collections of other tools: a site writes tracks in it, and makes tracks from it.

    Attributes:
        module: the module with `check(track, form)`, `write(archive, file, report)`, `check_upload(file, name)`,
            `load(progress, loaded, stored)`, and for data sets of ir_datasets `check_dataset(dataset)`,
            `short_name(dataset)` and `fetch(progress, loaded)`. Only sites import it.
    """

    noun = "form of test collections"

    module: str


ARCHIVE_PARTS = Registry(ArchivePart, [])
TRACK_PARTS = Registry(TrackPart, [])
COLLECTION_FORMS = Registry(CollectionForm, [])
