"""The conversion of the formulas of a build, by all workers.

The job of the build leads. It divides the formulas that its cache does not have into parts, which are rows, and
requests helper jobs. Leader and helpers claim part after part, convert its formulas and store the results with it. The
leader adds them to its cache. A part whose worker is lost is free again. With one worker the leader does everything.
"""

import json
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from assay.errors import InputError
from assay.formulas.conversion import BATCH, Converter, converted_in_batches
from assay.formulas.latexml import Conversion
from assay.processes import processors
from corpus.models import Build, ConversionPart
from jobs import services as jobs
from jobs.models import Job

HELP = "corpus.help_build"
FORMULAS = {"latexml": 1_000, "latex2mathml": 5_000}  # of a part: some seconds to a minute
MAX_HELPERS = 15
PARTS_PER_HELPER = 2
WAIT_SECONDS = 0.5

Converted = Iterator[tuple[Sequence[str], Sequence[Conversion]]]


def pack(values: Sequence[object]) -> bytes:
    """Formulas or results as they are stored."""
    return zlib.compress(json.dumps(values).encode())


def unpack(data: bytes | memoryview | None) -> Any:
    """The values that `pack` stored; nothing for None."""
    return json.loads(zlib.decompress(data)) if data else []


def convert(
    progress: jobs.Progress, build: Build, formulas: Sequence[str], report: Callable[[int], object]
) -> Converted:
    """Convert formulas with all workers, as the leader. Gives the parts in the order in which they are done.

    Args:
        report: called after each batch with the number of formulas that this worker has converted of a part.

    Raises:
        JobLost: Another worker took the job over.
    """
    # most files of an index have none: small ones are converted together
    if not formulas and not build.parts.exists():
        return
    _plan(progress, build, formulas)
    while build.parts.exists():
        part = _claim(progress, build)
        if part is None:
            report(0)
            time.sleep(WAIT_SECONDS)  # helpers work on the last parts
        else:
            _convert(progress, part, build.converter, report)
        for done in build.parts.exclude(results=None).iterator(chunk_size=1):
            yield unpack(done.formulas), [Conversion(*result) for result in unpack(done.results)]
            with progress.storing():  # the results are in the cache now
                build.parts.filter(pk=done.pk).delete()
    with progress.storing():
        _helpers(build).filter(state=Job.State.DONE).delete()


def _helpers(build: Build) -> Any:
    return Job.objects.filter(kind=HELP, arguments__build_id=build.pk)


def _plan(progress: jobs.Progress, build: Build, formulas: Sequence[str]) -> None:
    """Divide the formulas into parts, except those that an earlier attempt has converted, and request helpers."""
    with progress.storing() as job:
        build.parts.filter(results=None).delete()
        done = {formula for part in build.parts.all() for formula in unpack(part.formulas)}
        left, size = [formula for formula in formulas if formula not in done], FORMULAS[build.converter]
        pieces = (left[start : start + size] for start in range(0, len(left), size))
        ConversionPart.objects.bulk_create(
            (ConversionPart(build=build, formulas=pack(piece)) for piece in pieces), batch_size=100
        )
        n_wanted = min(MAX_HELPERS, len(left) // size // PARTS_PER_HELPER)
        for _ in range(n_wanted - _helpers(build).filter(state__in=Job.UNFINISHED).count()):
            jobs.request(
                kind=HELP,
                title=f"Help to build {build.collection}",
                arguments={"build_id": build.pk, "converter": Converter.named(build.converter).full_name},
                by=job.created_by,
                subject=build,
            )


@jobs.handler(HELP)
def help_build(progress: jobs.Progress, *, build_id: int, converter: str) -> dict[str, Any]:
    """Convert formulas of a build until no part is left, if this worker has the same converter."""
    build, n = Build.objects.select_related("job").filter(pk=build_id).first(), 0
    if build is None or not _has_converter(build.converter, converter):
        return {"parts": 0}
    while (part := _claim(progress, build)) is not None:
        _convert(progress, part, build.converter, lambda n: progress.update(n, None, "formulas of a part"))
        n += 1
    return {"parts": n}


def _has_converter(name: str, full_name: str) -> bool:
    """Return whether this worker has the converter in the version of the leader: others make other MathML."""
    try:
        return Converter.named(name).full_name == full_name
    except InputError:
        return False


def _claim(progress: jobs.Progress, build: Build) -> ConversionPart | None:
    """Claim a free part for this job; None if there is none, or if the leader has ended."""
    with progress.storing():
        is_led = (
            build.job is not None and Job.objects.filter(pk=build.job.pk, state__in=Job.UNFINISHED).exists()
        )
        if not is_led:
            return None
        return progress.claim(build.parts.filter(results=None))


def _convert(
    progress: jobs.Progress, part: ConversionPart, converter: str, report: Callable[[int], object]
) -> None:
    """Convert the formulas of a part that this job holds. If it lost the part meanwhile, nothing is stored."""
    formulas = unpack(part.formulas)
    n = processors() if len(formulas) > BATCH else 0
    results: list[Conversion] = []
    for _, converted in converted_in_batches(converter, formulas, processes=n):
        results += converted
        report(len(results))
    held = ConversionPart.objects.filter(progress.holds, pk=part.pk, results=None)
    with progress.storing(is_part=True):
        held.update(results=pack(results))
