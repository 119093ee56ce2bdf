"""The form that uploads an archive of runs."""

from typing import Any

from django import forms

from web.forms import style_fields


class ArchiveForm(forms.Form):
    """An archive with a manifest and run files."""

    upload = forms.FileField(
        label="Archive",
        help_text="A zip, tar.gz or tar.xz with manifest.csv and the run files that it lists.",
        widget=forms.ClearableFileInput(attrs={"accept": ".zip,.gz,.tgz,.xz,.tar"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)
