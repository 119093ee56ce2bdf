from django.apps import AppConfig


class EstimatesConfig(AppConfig):
    name = "assay_extensions.estimates.site"
    label = "estimates"
