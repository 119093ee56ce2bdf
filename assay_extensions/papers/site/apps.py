from django.apps import AppConfig


class PapersConfig(AppConfig):
    name = "assay_extensions.papers.site"
    label = "papers"
