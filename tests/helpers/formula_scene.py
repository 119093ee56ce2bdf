"""A small formula track: posts with formulas, their index, and runs that retrieve them."""

import io
from dataclasses import dataclass

from accounts.models import User
from corpus.models import Collection, Document, Formula
from participation.models import Team
from participation.teams import services as team_services
from pooling.models import Run
from pooling.runs import services as run_services
from tests.helpers.factories import (
    make_answer,
    make_collection,
    make_document,
    make_organizer,
    make_topic,
    make_track,
)
from tests.helpers.remembered import remembered
from tracks.models import Topic, Track

SHAPES = ["x^2", r"\frac{a}{b}", r"\sqrt{n}", "e^{i\\pi}"]


@dataclass
class FormulaScene:
    """Threads of a question and two answers. Formula n looks like SHAPES[n % 4]; post n contains it."""

    track: Track
    collection: Collection
    topic: Topic
    other: Topic
    organizer: User
    teams: list[Team]

    def submit(self, tag: str, formulas: list[int], *, team: int = 0, kind: str = "primary") -> Run:
        """Submit a run that retrieves the same formulas for both topics."""
        posts = dict(Formula.objects.filter(collection=self.collection).values_list("code", "post"))
        lines = [
            f"{code}\t{n}\t{posts[str(n)]}\t{rank}\t{-rank}\t{tag}\n"
            for code in (self.topic.code, self.other.code)
            for rank, n in enumerate(formulas, 1)
        ]
        return run_services.submit(
            track=self.track,
            team=self.teams[team],
            by=self.organizer,
            file=io.BytesIO("".join(lines).encode()),
            file_name=f"{tag}.tsv",
            declared=run_services.Declaration(kind=kind),
        )


@remembered
def build_formula_scene(
    *, protocol: str = "arqmath-2021-task2", n: int = 48, is_clustered: bool = True
) -> FormulaScene:
    collection = make_collection("posts")
    for i in range(0, n, 3):
        question = _post(collection, i)
        for k in (i + 1, i + 2):
            _post(collection, k, question)
    Formula.objects.bulk_create(
        Formula(
            collection=collection,
            code=str(i),
            post=str(1000 + i),
            thread=str(1000 + i - i % 3),
            place=Formula.Place.QUESTION if i % 3 == 0 else Formula.Place.ANSWER,
            visual=f"v{i % 4}" if is_clustered else "",
            latex=SHAPES[i % 4],
        )
        for i in range(n)
    )
    _make_namesakes(n)
    track = make_track("formulas", protocol=protocol, collection=collection)
    topic, other = (make_topic(track, f"B.{i}", formula_id=f"q_{i}", latex=SHAPES[0]) for i in (1, 2))
    teams = [team_services.create(track=track, name=name) for name in ("Abacus", "Base")]
    return FormulaScene(track, collection, topic, other, make_organizer("olga"), teams)


def _make_namesakes(n: int) -> None:
    """Another collection with the same ids of formulas and posts: nothing of it belongs to the track."""
    other = make_collection("namesakes")
    for i in range(n):
        make_document(other, str(1000 + i), body="<p>A namesake.</p>")
    Formula.objects.bulk_create(
        Formula(
            collection=other,
            code=str(i),
            post=str(1000 + i),
            thread=str(1000 + i),
            place=Formula.Place.QUESTION,
            visual=f"v{(i + 1) % 4}",
            latex=r"\text{namesake}",
        )
        for i in range(n)
    )


def _post(collection: Collection, i: int, question: Document | None = None) -> Document:
    body = (
        f'<p>First words of post {i}.</p><p>Here <span class="math-container" data-formula-id="{i}" '
        f'data-display="inline">{SHAPES[i % 4]}</span> stands.</p>'
    )
    docno = str(1000 + i)
    return (
        make_document(collection, docno, body=body)
        if question is None
        else make_answer(question, docno, body=body)
    )
