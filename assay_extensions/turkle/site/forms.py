"""The forms that start an import of projects, and name their tracks and accounts."""

from typing import Any

from django import forms

from accounts.models import User
from assay_extensions.turkle.projects import MAX_BYTES
from assessment.imports.forms import WordsForm
from assessment.models import ProjectImport
from tracks.models import Track
from web.forms import FilesField, FilesInput, ShortNameField, StyledForm
from web.pages import counted

SLUG, NAME, USERNAME = (
    Track._meta.get_field("slug").max_length,
    Track._meta.get_field("name").max_length,
    User._meta.get_field("username").max_length,
)


class ProjectsForm(StyledForm):
    """The files of one project, or zip files with a folder for each project."""

    upload = FilesField(
        label="Files",
        widget=FilesInput(attrs={"accept": ".html,.htm,.csv,.json,.toml,.zip"}),
        help_text="Of one project: its template as HTML, and the input and the results of each batch as CSV. Or a zip "
        "file with a folder for each project. The files that <code>assay turkle</code> or <code>assay label-studio "
        "import</code> made are accepted too.",
    )

    def clean_upload(self) -> Any:
        uploads = self.cleaned_data["upload"]
        if (size := sum(upload.size for upload in uploads)) > MAX_BYTES:
            raise forms.ValidationError(
                f"The files have {size >> 20} MB; at most {MAX_BYTES >> 20} MB are accepted. Import fewer at a time."
            )
        return uploads


class NamesForm(WordsForm):
    """The titles and short names of the tracks, and the accounts of the workers."""

    def __init__(self, *args: Any, source: ProjectImport, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        projects: list[dict[str, Any]] = source.report.get("projects", [])
        for project in projects:
            of_project = f" of {project['folder'] or project['title']}" if len(projects) > 1 else ""
            title = forms.CharField(max_length=NAME, label=f"Name{of_project}", initial=project["title"])
            slug = ShortNameField(max_length=SLUG, label=f"Short name{of_project}", initial=project["slug"])
            slug.help_text = "Of the track, for its URL, and of its protocol."
            self.add("titles", project["folder"], title)
            self.add("slugs", project["folder"], slug)
        for person in source.report.get("people", []):
            label = f"Account of {person['worker']} ({counted(person['judgments'], 'judgment')})"
            name = forms.CharField(max_length=USERNAME, label=label, initial=person["account"])
            name.help_text = "A new account." if person["is_new"] else "This account exists."
            self.add("accounts", person["worker"], name)
