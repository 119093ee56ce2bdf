"""The protocols for which a user's keys are checked."""

from typing import NamedTuple

from accounts.models import User
from assay.protocols.schema import JudgingRules
from assessment.judgments.rules import judging_rules
from assessment.models import Batch
from assessment.tasks.selectors import batches_of


class Judged(NamedTuple):
    """A protocol with which a user judges now."""

    title: str
    rules: JudgingRules


def judged_protocols(user: User) -> list[Judged]:
    """The protocols of the user's open batches, by title."""
    batches = batches_of(user).filter(status=Batch.Status.OPEN)
    stored = {batch.pool.protocol_id: batch.pool.protocol for batch in batches}
    return sorted(Judged(protocol.title, judging_rules(protocol)) for protocol in stored.values())
