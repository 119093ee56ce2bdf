from django.apps import AppConfig


class BaselinesConfig(AppConfig):
    name = "assay_extensions.baselines.site"
    label = "baselines"
