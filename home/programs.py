"""llms.txt: where programs find the rules of runs, the API and the documentation."""

from django.contrib.auth.models import AnonymousUser
from django.urls import reverse

from assay.formats.runs.guide import run_schema
from tracks.models import Track
from tracks.tracks.selectors import tracks_for

PAGES = {
    "roles/participant.html": "For participants",
    "howto/take-part-by-command.html": "Submit runs by command",
    "howto/use-the-api.html": "Use the API",
    "howto/judge-with-a-program.html": "Judge with a program",
    "reference/formats.html": "Formats of files",
    "reference/measures.html": "Measures",
    "reference/commands/index.html": "Commands",
}


def index_for_programs(site: str) -> str:
    """The index in Markdown, as llmstxt.org describes it: what visitors see. `site` is the origin of the addresses.

    Tracks that need a missing extension are left out.
    """
    tracks = [
        track
        for track in tracks_for(AnonymousUser()).order_by("name", "slug")
        if not track.protocol.missing and track.protocol.parsed.takes_runs
    ]
    runs = [line for track in tracks for line in _runs_of(track, site)]
    pages = [f"- [{title}]({site}{reverse('documentation', args=[page])})" for page, title in PAGES.items()]
    parts = [
        "# Assay",
        "> Evaluation campaigns: teams submit runs to tracks, people judge what they retrieved, scores are published.",
        "## Rules of runs",
        "\n".join(runs) or "No track takes runs.",
        "## API",
        f"- [OpenAPI document]({site}{reverse('api:schema')})",
        "## Documentation",
        "\n".join(pages),
    ]
    return "\n\n".join(parts) + "\n"


def _runs_of(track: Track, site: str) -> list[str]:
    address = f"{site}{reverse('pooling:programs', args=[track.slug])}"
    name = track.name.replace("[", "(").replace("]", ")")
    state = "open" if track.status == Track.Status.OPEN else "closed"
    lines = [
        f"- [{name}]({address}?format=markdown): formats, rules, an example and the check; the track is {state}"
    ]
    if run_schema(track.protocol.parsed) is not None:
        lines.append(f"- [{name}, JSON Schema]({address}?format=schema): of a line of a run in JSON lines")
    return lines
