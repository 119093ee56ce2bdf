"""The rights of an access token. A scope never adds rights: a token can do at most what its user can."""

from django.db.models import TextChoices


class Scope(TextChoices):
    """Scopes of tokens. A request that changes something needs exactly one of them."""

    READ = "read", "read: see whatever you see on the site"
    RUNS = "runs", "runs: check, submit, describe and withdraw runs"
    JUDGE = "judge", "judge: get tasks and record judgments"
    MANAGE = "manage", "manage: change tracks, teams, pools, batches, qrels and people, if you may"
