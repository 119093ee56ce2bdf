# ruff: noqa: F401, PLC0415 - models are there only in `ready`, and points register themselves
from django.apps import AppConfig, apps
from django.db.backends.signals import connection_created

from config import checks
from web import migration_guard
from web.statements import plan_for_all_rows

SECTIONS = {  # of the admin, in words of its users
    "accounts": "People",
    "assessment": "Judging",
    "axes": "Logins with wrong passwords",
    "corpus": "Collections",
    "participation": "Teams",
    "pooling": "Runs and pools",
    "publishing": "Archives",
    "scoring": "Qrels and leaderboards",
}


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        """Register the checks of `manage.py check` and the points of the checklist, refuse migrations that would drop
        data, record logins, and set what connections to the database have.
        """
        import assessment.checklist
        import assessment.nuggets.checklist
        import participation.checklist
        import pooling.checklist
        import publishing.checklist
        import scoring.checklist
        import tracks.checklist.set_up
        from accounts.sessions import services as sessions

        for name, words in SECTIONS.items():
            apps.get_app_config(name).verbose_name = words
        sessions.connect()
        connection_created.connect(plan_for_all_rows)
        checks.register_all()
        migration_guard.connect()
