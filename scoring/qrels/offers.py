"""Offer a version of qrels in the downloads of another track, such as that of the next year."""

from io import BytesIO

from accounts.models import User
from scoring.models import Qrels
from scoring.qrels.errors import QrelsRefused
from scoring.qrels.exports import file_stem
from scoring.qrels.selectors import qrels_tsv
from tracks.downloads import services as downloads
from tracks.models import Download, Track


def offer(*, qrels: Qrels, track: Track, by: User) -> Download:
    """Attach a copy of a version to the downloads of another track. It is not released yet.

    Raises
    ------
    QrelsRefused
        The track is that of the qrels.
    DownloadRefused
        They are attached already.
    """
    if track.pk == qrels.track_id:
        raise QrelsRefused(f"{track} cannot offer its own qrels: release its leaderboard instead.")
    return downloads.attach_file(
        track=track,
        kind=Download.Kind.QRELS,
        file=BytesIO(qrels_tsv(qrels)),
        name=f"{file_stem(qrels)}.tsv",
        description=f"Qrels of {qrels.track}, {qrels}."[:1000],
        by=by,
    )
