"""Lets an endpoint use the form of a page, so that both have the same rules."""

from django.forms import BaseForm
from rest_framework.exceptions import ErrorDetail, ValidationError


def require_valid(form: BaseForm) -> None:
    """Refuse what the form refuses.

    Raises
    ------
    ValidationError
        With the errors of the form, by field.
    """
    if form.is_valid():
        return
    errors = {
        "non_field_errors" if field == "__all__" else field: [
            ErrorDetail(str(error["message"]), str(error["code"] or "invalid")) for error in each
        ]
        for field, each in form.errors.get_json_data().items()
    }
    raise ValidationError(errors)
