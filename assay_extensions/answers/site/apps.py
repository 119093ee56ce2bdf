from django.apps import AppConfig


class RubricsConfig(AppConfig):
    name = "assay_extensions.answers.site"
    label = "rubrics"
