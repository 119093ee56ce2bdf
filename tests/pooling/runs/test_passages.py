"""Passages that are documents of their own, as MS MARCO's, and not citations of posts; through the submission page."""

from pathlib import Path

from assay.protocols.loader import parse_protocol, shipped_text
from jobs import services as jobs
from pooling.models import PoolEntry, Run
from pooling.pools import services as pool_services
from tests.helpers.factories import make_collection, make_document, make_organizer
from tests.pooling.runs.test_submission import desk
from tracks.models import StoredProtocol


def test_passages_are_looked_up_and_pooled_as_documents(db: None, folder: Path) -> None:
    page = desk("trec-adhoc", ["156493"])
    collection = make_collection("passages")
    for docno in ("7", "8"):
        make_document(collection, docno, kind="document", body=f"<p>Passage {docno}</p>")
    text = shipped_text("trec-adhoc").replace('unit = "document"', 'unit = "passage"')
    text = text.replace('formats = ["trec-6"]', 'formats = ["columns"]')
    text = text.replace("[pool]", '[runs.columns]\norder = ["topic", "docno", "rank"]\n\n[pool]')
    digest = parse_protocol(text, name="x").digest
    StoredProtocol.objects.filter(pk=page.track.protocol_id).update(text=text, digest=digest)
    page.track.collection = collection
    page.track.save()

    form = page.send(b"156493 9 1\n156493 7 2\n", name="r.tsv").content.decode()
    page.send(b"156493 8 1\n156493 7 2\n", name="r.tsv")
    page.track.refresh_from_db()
    pool = pool_services.request(track=page.track, by=make_organizer(), name="Pool 1", seed=1, depth={})
    jobs.run(pool.job_id or 0)

    assert "Give at most 1000 passages per topic" in form
    assert "The rank decides the order. Ties are ordered by passage id" in form
    assert "the document is not in the collection" in form
    assert Run.objects.get().tag == "Owls-primary"
    entries = PoolEntry.objects.filter(pool=pool).order_by("docno").select_related("document")
    assert [(entry.docno, entry.document and entry.document.body) for entry in entries] == [
        ("7", "<p>Passage 7</p>"),
        ("8", "<p>Passage 8</p>"),
    ]
