from django.apps import AppConfig


class BattlesConfig(AppConfig):
    name = "assay_extensions.battles.site"
    label = "battles"
