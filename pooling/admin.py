"""Registers the admin pages of this app with Django, which looks for them here."""

from pooling.pools.admin import PoolAdmin
from pooling.runs.admin import RunAdmin
from pooling.teams.admin import TeamAdmin

__all__ = ["PoolAdmin", "RunAdmin", "TeamAdmin"]
