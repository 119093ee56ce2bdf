"""The site lets a machine judge: a job calls the model at an address that the operator lists, or a trained classifier.

The key of an address is in the environment variable that the operator names; the one of the judge file is not used.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings

from assay.errors import Refused
from assay.html.sanitize import plain
from assay_extensions.machines.judge_files.judges import Judge
from assay_extensions.machines.judge_files.prompts import template_names
from assay_extensions.machines.model.asking import Judged, ModelJudge, Question, UnitJudge
from assay_extensions.machines.model.classifier import Example, TrainedJudge
from assay_extensions.machines.model.client import ModelClient
from assay_extensions.machines.site.models import JudgeRecord
from assessment.agreement.machines import people_grades
from pooling.models import PoolEntry
from tracks.models import Track

OWN_TEMPLATE = "template.toml"
FOLDS = 5
CONNECTIONS = 8

call_refused = partial(Refused, code="call-refused", title="The site cannot let this machine judge")


def check(stored: JudgeRecord | None, track: Track) -> None:
    """Refuse a judge that the site cannot call.

    Raises Refused: it is not registered, or its address is not listed by the operator, or its template is unknown.
    """
    if stored is None:
        raise call_refused("The machine has no registered judge. Register its judge file first.")
    judge = stored.judge
    if judge.is_trained:
        judged = track.protocol.parsed.judged
        if judged.has_members or judged.has_votes or judged.has_nuggets or judged.is_formula:
            raise call_refused("The classifier judges documents, and this protocol judges other units.")
        if not people_grades(track):
            raise call_refused("The classifier is trained on grades of people, and there are none yet.")
        return
    if judge.address.rstrip("/") not in settings.JUDGE_ADDRESSES:
        raise call_refused(
            f"The setting JUDGE_ADDRESSES of this site does not list {judge.address or 'an address'}. The "
            "administrators of its server can add it. “assay judge” can judge from your own machine."
        )
    is_known = bool(stored.template_text) or judge.template in template_names()
    with _own_template(stored) as readable:
        prompt = readable.prompt() if is_known else None
    if prompt is None or prompt.sha256 != stored.record["template_sha256"]:
        raise call_refused(
            "The site does not have the template of this judge. Upload the judge file with it."
        )


@contextmanager
def _own_template(stored: JudgeRecord) -> Iterator[Judge]:
    """The judge of a record, whose template can be read: never a path that the record names."""
    judge = stored.judge
    with TemporaryDirectory() as folder:
        if judge.template not in template_names():
            Path(folder, OWN_TEMPLATE).write_text(stored.template_text, "utf-8", newline="")
            judge = replace(judge, template=OWN_TEMPLATE, folder=folder)
        yield judge


@contextmanager
def judge_of_site(stored: JudgeRecord, track: Track) -> Iterator[tuple[UnitJudge, "ModelClient | None"]]:
    """The judge of a record, ready to judge."""
    if stored.judge.is_trained:
        yield Trained(track), None
        return
    # Sites without JUDGE_ADDRESSES need no httpx
    from assay_extensions.machines.site.transport import PublicTransport  # noqa: PLC0415

    with _own_template(stored) as judge:
        variable = settings.JUDGE_ADDRESSES[judge.address.rstrip("/")]
        key = os.environ.get(variable, "") if variable else ""
        if variable and not key:
            raise call_refused(f"The operator has not set {variable}, the key of {judge.address}.")
        transport = PublicTransport()
        with ModelClient(judge, key=key, connections=CONNECTIONS, transport=transport) as client:
            yield ModelJudge(client), client


class Trained:
    """Classifiers of a track. Units that people graded are judged by one that was trained on other units."""

    def __init__(self, track: Track) -> None:
        grades = people_grades(track)
        rows = PoolEntry.objects.filter(pool__track=track, topic__code__in={topic for topic, _ in grades})
        examples: dict[tuple[str, str], Example] = {}
        for topic, docno, title, body in rows.values_list(
            "topic__code", "docno", "document__title", "document__body"
        ).iterator(chunk_size=500):
            if (topic, docno) in grades and title is not None:
                text = f"{plain(title)}\n{plain(body)}"
                examples[topic, docno] = Example(text, grades[topic, docno])
        self._fold = {unit: n % FOLDS for n, unit in enumerate(sorted(examples))}
        self._all = TrainedJudge((topic, example) for (topic, _), example in examples.items())
        self._without = [
            TrainedJudge((unit[0], example) for unit, example in examples.items() if self._fold[unit] != fold)
            for fold in range(min(FOLDS, len(examples)))
            if len(examples) > 1
        ]

    def __call__(self, question: Question) -> Judged:
        fold = self._fold.get((question["topic"], question["docno"]))
        return (self._all if fold is None else self._without[fold])(question)
