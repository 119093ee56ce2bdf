from django.apps import AppConfig


class MachinesConfig(AppConfig):
    name = "assay_extensions.machines.site"
    label = "machines"
