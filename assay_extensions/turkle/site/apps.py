from django.apps import AppConfig


class TurkleConfig(AppConfig):
    name = "assay_extensions.turkle.site"
    label = "turkle"
