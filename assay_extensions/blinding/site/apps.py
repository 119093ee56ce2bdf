from django.apps import AppConfig


class BlindingConfig(AppConfig):
    name = "assay_extensions.blinding.site"
    label = "blinding"
