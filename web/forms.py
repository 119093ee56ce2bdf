"""What the forms of every room have in common."""

from django import forms


def bootstrapped(form: forms.BaseForm) -> None:
    """Give each control its Bootstrap class, and tie it to its help and errors."""
    for name, field in form.fields.items():
        kind = "form-select" if isinstance(field.widget, forms.Select) else "form-control"
        field.widget.attrs.setdefault("class", kind)
        field.widget.attrs.setdefault("aria-describedby", f"id_{name}_help")
