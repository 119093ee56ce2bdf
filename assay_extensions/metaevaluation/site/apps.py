from django.apps import AppConfig


class MetaevaluationConfig(AppConfig):
    name = "assay_extensions.metaevaluation.site"
    label = "metaevaluation"
