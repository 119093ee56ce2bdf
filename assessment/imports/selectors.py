"""Imports of judgments and projects, as their pages show them. For organizers only."""

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404

from accounts.models import User
from assessment.models import JudgmentImport, ProjectImport
from pooling.models import Pool
from tracks.models import Track


def imports() -> QuerySet[JudgmentImport]:
    """All imports, with what their page needs."""
    return JudgmentImport.objects.select_related("track__protocol", "pool", "job", "created_by")


def import_or_404(import_id: int) -> JudgmentImport:
    """An import, for somebody whose role in its track was checked.

    Raises:
        Http404: There is no such import.
    """
    return get_object_or_404(imports(), pk=import_id)


def pools_for_import(track: Track) -> QuerySet[Pool]:
    """The pools whose units imported judgments can be about."""
    return Pool.objects.filter(track=track, status=Pool.Status.READY, protocol=track.protocol_id).defer(
        "statistics"
    )


def project_imports(user: User) -> QuerySet[ProjectImport]:
    """The imports of projects that a user started, newest first, with what their pages need; administrators see all."""
    uploads = ProjectImport.objects.select_related("job", "created_by")
    return uploads if user.is_administrator else uploads.filter(created_by=user)
