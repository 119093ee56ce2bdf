"""Estimates from the judgments of a machine and of people: samples, values of runs, bias, and what to judge next.

A machine judged all units, people a part of them. The parts of this extension take arrays:

- `weights`: measures that are sums of gains, and the weight of each unit in each run
- `designs`: samples of units for people, with the probability of each unit to be in the sample
- `difference`: values of runs from a machine's grades and a sample, with intervals
- `whole_topics`: values of runs if people judged all units of some topics
- `shares`: shares, such as those of supported citations
- `bias`: where a machine is lenient
- `next_units`: the units that people should judge next

A unit is a row of the machine's qrels. Arrays of units have the shape (units,), ordered by topic; arrays of runs are
(runs, topics) or (runs, units).
"""

from assay.archive.parts import TrackPart
from assay.cli.main import Command
from assay.extensions import Extension

EXTENSION = Extension(
    name="estimates",
    title="Estimates from machines and people",
    requires=("metaevaluation",),
    adds=(
        Command(
            "estimate",
            "estimate values of runs from a machine's judgments and people's",
            "assay_extensions.estimates.command",
        ),
        TrackPart(
            name="estimates",
            title="samples for people, and estimates",
            verify="assay_extensions.estimates.archive:verify",
            gather="assay_extensions.estimates.site.archive:gather",
            load="assay_extensions.estimates.site.archive:load",
        ),
    ),
)
