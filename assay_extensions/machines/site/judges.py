"""Register the judge of a machine."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import InputError, Refused
from assay.structure import WrongStructure, read_toml
from assay_extensions.machines.judge_files.judges import (
    MAX_NAME,
    MOST,
    OF_TEMPLATE,
    Judge,
    judge_of,
    problems,
)
from assay_extensions.machines.judge_files.prompts import template_names
from assay_extensions.machines.site.calling import OWN_TEMPLATE
from assay_extensions.machines.site.models import JudgeRecord
from assessment.models import Judgment
from tracks.models import Machine

judge_refused = partial(Refused, code="judge-refused", title="The judge was not registered")


@transaction.atomic
def register(
    *, machine: Machine, record: Mapping[str, object], template_text: str = "", by: User
) -> JudgeRecord:
    """Store the record of a machine's judge. The same record again changes nothing.

    A machine without a family gets that of the judge. A family that it has stays.

    Raises:
        Refused: It is not the record of a judge; its family is not that of the machine; or the machine has judged with
            another judge.
    """
    judge = checked(record)
    declared = Machine.objects.select_for_update(no_key=True).get(pk=machine.pk).family
    stored = JudgeRecord.objects.filter(machine=machine).first()
    if stored is not None and stored.record == record:
        if template_text and template_text != stored.template_text:
            stored.template_text = template_text
            stored.save(update_fields=["template_text"])
        return stored
    if Judgment.objects.filter(assessor=machine.assessor.user_id).exists():
        raise judge_refused(_what_differs(stored, record), code="judge-differs")
    family = judge.family[:MAX_NAME]
    if declared and family and family.casefold() != declared.casefold():
        raise judge_refused(
            f"Its family is {family}, and that of the machine is {declared}, which cannot change. Correct the judge "
            "file, or add another machine.",
            code="judge-differs",
        )
    details = {"model": judge.model, "template": record["template_sha256"]}
    audit.record(
        action="machine.judge", subject=machine, track=machine.assessor.track, details=details, by=by
    )
    if not declared:
        Machine.objects.filter(pk=machine.pk).update(family=family)
    row, _ = JudgeRecord.objects.update_or_create(
        machine=machine,
        defaults={"record": dict(record), "template_text": template_text, "created_by": by},
    )
    return row


def record_of_file(text: str, name: str, template: str = "") -> dict[str, Any]:
    """The record of a judge file, with the text of its template if Assay does not have that.

    No path of the file is read here: it is one of somebody else's machine.

    Raises InputError: the file or the template has errors, or the template is missing.
    """
    judge = read_toml(text, Judge, name=name, rules=problems, most=MOST, folder="")
    if not judge.address or judge.template in template_names():
        return judge.record()
    if not template:
        raise InputError(f"{name}: upload its template {judge.template} too, because Assay does not have it")
    with TemporaryDirectory() as folder:
        Path(folder, OWN_TEMPLATE).write_text(template, "utf-8", newline="")
        record = replace(judge, template=OWN_TEMPLATE, folder=folder).record()
    return record | {"template": judge.template}


def checked(record: Mapping[str, object]) -> Judge:
    """The judge of a record.

    Raises Refused: keys are missing or unknown, or values are wrong.
    """
    if missing := [name for name in OF_TEMPLATE if not isinstance(record.get(name), str)]:
        raise judge_refused(f"{missing[0]} is missing, or not a text.", code="judge-wrong")
    try:
        judge = judge_of(record)
        wrong = next(problems(judge), "")
    except WrongStructure as error:
        wrong = str(error)
    if wrong:
        raise judge_refused(f"{wrong[:1].upper()}{wrong[1:]}.", code="judge-wrong")
    return judge


def _what_differs(stored: JudgeRecord | None, record: Mapping[str, object]) -> str:
    if stored is None:
        return "The machine has judged without a registered judge. Add another machine for this judge."
    names = sorted(name for name in {*stored.record, *record} if stored.record.get(name) != record.get(name))
    differences = "; ".join(
        f"{name}: {stored.record.get(name)!r}, not {record.get(name)!r}" for name in names
    )
    return (
        f"The machine has judged with another judge, which cannot change: {differences}. Add another machine."
    )
