"""The app of the other ways to log in. It is installed only if a setting asks for one. Decision: ADR 21."""

from django.apps import AppConfig, apps
from django.contrib import admin

OF_ALLAUTH = {"account", "socialaccount", "mfa"}  # the labels of its apps


class SignInConfig(AppConfig):
    """Keeps the rows of django-allauth out of the admin, and records what people do with them."""

    name = "accounts.signin"
    label = "signin"

    def ready(self) -> None:
        """Connect the records to the signals of django-allauth."""
        from accounts.signin import records  # noqa: PLC0415 - models are there only now

        records.connect()
        for model in apps.get_models():
            if model._meta.app_label in OF_ALLAUTH and admin.site.is_registered(model):
                admin.site.unregister(model)
