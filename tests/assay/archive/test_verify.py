"""Problems with the interaction of an archive."""

from types import SimpleNamespace
from typing import Any

from assay.archive.records import SessionDataRecord, SessionRecord
from assay.archive.verify import session_problems
from assay.protocols.loader import load_protocol


def archive(*sessions: SessionRecord, data: tuple[SessionDataRecord, ...] = ()) -> Any:
    """An archive of BOLT with the team Owls, the topic T1, the assessor ada, and one file of data."""
    index = SimpleNamespace(
        teams=["Owls"], assessors=[SimpleNamespace(name="ada")], track=SimpleNamespace(protocol="bolt"),
        sessions=sessions, session_data=data,
    )  # fmt: skip
    return SimpleNamespace(
        index=index, topics=[SimpleNamespace(code="T1")], reader=SimpleNamespace(sums={"interaction/1.xml": "ab"}),
        protocol=lambda _: load_protocol("bolt-ir-p3"),
    )  # fmt: skip


def test_sessions_and_their_data_are_checked() -> None:
    good = SessionRecord("Owls", "T1", 1, 119.5, "ada", "2026-11-22T10:00:00Z")
    data = SessionDataRecord("Owls", "interaction/1.xml", "owls.xml", "ab", "2026-11-22T11:00:00Z")

    assert list(session_problems(archive(good, data=(data,)))) == []


def test_each_problem_of_a_session_is_named() -> None:
    wrong = SessionRecord("Larks", "T9", 0, 120.5, "bob")
    again = SessionRecord("Larks", "T9", 0)
    lost = SessionDataRecord("Larks", "interaction/2.xml", "larks.xml", "cd", "2026-11-22T11:00:00Z")

    assert list(session_problems(archive(wrong, again, data=(lost, lost)))) == [
        "Larks, topic T9: no such team",
        "Larks, topic T9: no such topic",
        "Larks, topic T9: the place 0 is below 1",
        "Larks, topic T9: 120.5 seconds, of at most 120",
        "Larks, topic T9: no assessor bob",
        "Larks, topic T9: an assessor, but no start",
        "Larks, topic T9: no such team",
        "Larks, topic T9: no such topic",
        "Larks, topic T9: the place 0 is below 1",
        "Larks has the topic T9 2 times",
        "Larks has the place 0 2 times",
        "data of Larks: no such team",
        "data of Larks: 2 files",
        "interaction/2.xml does not have the digest of the index",
        "interaction/2.xml does not have the digest of the index",
    ]
