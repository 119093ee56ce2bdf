"""Makes the runs of the teams from the truth table. `python -m demo.make_runs` writes those of 2026 under `runs/`.

A run ranks the answers by their grade plus noise; less noise makes a better team. Other answers in a thread with a
relevant answer rank higher too, and some answers mislead every system. As with real runs, the runs overlap and the pool
contains near misses. The files of 2026 are committed, so that organizers can try the upload with them. A test compares
them with the output of this script.
"""

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from demo import content

YEARS = (2025, 2026)
YEAR_OF_FILES = 2026  # the other track takes no more runs
FOLDER = content.FOLDER / "runs" / str(YEAR_OF_FILES)


@dataclass(frozen=True)
class System:
    """The properties of a run, and how well it ranks: `noise` is the spread of the noise; grades are 0 to 3."""

    team: str
    tag: str
    kind: str
    uses: str
    description: str
    noise: float
    depth: int
    digits: int = 4  # of the scores; with few digits, scores are tied
    is_manual: bool = False
    misses: tuple[str, ...] = ()  # topics without an answer
    years: tuple[int, ...] = YEARS


SYSTEMS = (
    System(
        "Abacus", "abacus-primary", "primary", "both", "Formula and text fused by reciprocal rank.", 0.4, 12
    ),
    System(
        "Quaternion",
        "quaternion-late-interaction",
        "primary",
        "both",
        "Late interaction over text and linearized formulas.",
        0.7,
        12,
        years=(2025,),
    ),
    System("Abacus", "abacus-text", "alternate", "text", "The text half of our primary run.", 0.9, 9),
    System(
        "Nordmark IR",
        "nordmark-dense-reranked",
        "primary",
        "both",
        "A dense retriever, reranked by a cross-encoder.",
        1.0,
        12,
        years=(2025,),
    ),
    System(
        "Quaternion",
        "quaternion-sparse",
        "alternate",
        "both",
        "Learned sparse vectors of the same model.",
        1.2,
        12,
        years=(2025,),
    ),
    System(
        "Nordmark IR",
        "nordmark-dense",
        "alternate",
        "both",
        "The dense retriever alone.",
        1.4,
        12,
        years=(2025,),
    ),
    System("Lemma", "lemma-primary", "primary", "math", "Formulas only, matched as operator trees.", 1.6, 12),
    System(
        "Zeta Search",
        "zeta-tangent",
        "primary",
        "math",
        "Paths through the symbol layout trees of the formulas.",
        1.8,
        12,
        years=(2025,),
    ),
    System(
        "Lemma",
        "lemma-manual",
        "alternate",
        "both",
        "Queries written by hand. The scores are rounded, so there are ties.",
        2.3,
        9,
        digits=1,
        is_manual=True,
        misses=("A.105", "A.205"),
    ),
)


def run_lines(system: System, year: int) -> Iterator[str]:
    """The lines of a system's run for the topics of a year, in ARQMath's five columns."""
    grades = content.truth()
    answers = [post for post in content.collection() if post.parent]
    for topic in sorted(post.topic for post in content.topic_threads(year) if post.topic):
        if topic in system.misses:
            continue
        rng = random.Random(zlib.crc32(f"{system.tag} {topic}".encode()))  # noqa: S311  not for secrets
        lures = random.Random(zlib.crc32(topic.encode()))  # noqa: S311
        near = {post.parent for post in answers if (topic, str(post.id)) in grades}
        scores = {
            post.id: grades.get((topic, str(post.id)), 0)
            + (post.parent in near)
            + 0.9 * lures.gauss(0, 1)
            + rng.gauss(0, system.noise)
            for post in answers
        }
        best = sorted(scores, key=lambda number: (-round(scores[number], system.digits), number))
        for rank, number in enumerate(best[: system.depth], 1):
            yield f"{topic}\t{number}\t{rank}\t{scores[number] + 10:.{system.digits}f}\t{system.tag}\n"


def systems_of(year: int) -> list[System]:
    return [system for system in SYSTEMS if year in system.years]


def text_of(system: System, year: int) -> str:
    return "".join(run_lines(system, year))


def path_of(system: System) -> Path:
    return FOLDER / f"{system.tag}.tsv"


def main() -> None:
    """Write the run files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for system in systems_of(YEAR_OF_FILES):
        path_of(system).write_text(text_of(system, YEAR_OF_FILES), encoding="utf-8", newline="")


if __name__ == "__main__":
    main()
