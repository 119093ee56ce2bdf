"""What the forms of all apps share."""

from django import forms


def style_fields(form: forms.BaseForm) -> None:
    """Give each control its Bootstrap class, and point it to its help and errors (`components/field.html`)."""
    for name, field in form.fields.items():
        kind = "form-select" if isinstance(field.widget, forms.Select) else "form-control"
        if not isinstance(field.widget, forms.CheckboxSelectMultiple):  # the class would be on the list too
            field.widget.attrs.setdefault("class", kind)
        field.widget.attrs.setdefault("aria-describedby", f"id_{form.add_prefix(name)}_help")


class CompareForm(forms.Form):
    """The id of what a page is compared with."""

    other = forms.IntegerField(min_value=1, max_value=2**63 - 1)
