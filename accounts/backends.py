"""Permissions in the admin: an organizer (`is_staff`) has every permission on the models of Assay."""

from typing import Any

from django.contrib.auth.backends import ModelBackend

APPS = {"accounts", "jobs", "corpus", "tracks", "pooling", "assessment", "scoring"}


class OrganizerBackend(ModelBackend):
    """Gives organizers every permission on our apps. The admin of each model decides what may be deleted."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        is_organizer = user_obj.is_active and user_obj.is_staff
        return (is_organizer and perm.split(".")[0] in APPS) or super().has_perm(user_obj, perm, obj)

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        is_organizer = user_obj.is_active and user_obj.is_staff
        return (is_organizer and app_label in APPS) or super().has_module_perms(user_obj, app_label)
