"""The pages with which organizers build collections."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, creator_required
from assay_extensions.building.site.builds import selectors, services
from assay_extensions.building.site.builds.forms import BuildForm, OptionsForm, options_of
from web.confirmation import Confirmation, confirmation_page
from web.downloads import stored_file
from web.forms import refusals_in
from web.pages import context_of, read_and_post


@read_and_post
@creator_required
def start_build(request: AuthenticatedRequest) -> HttpResponse:
    """Build a collection. Organizers only."""
    form = BuildForm(request.POST or None, request.FILES or None)
    with refusals_in(form):
        if form.is_valid():
            return redirect(services.request(by=request.user, **form.arguments))
    return render(request, "building/builds/start.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
@creator_required
def build(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """A build: its progress, counts before and after, and files. Organizers only."""
    row = get_object_or_404(selectors.builds_for(request.user), collection__slug=slug)
    return render(request, "building/builds/build.html", context_of(selectors.build_page(row)))


@read_and_post
@creator_required
def change_build(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Start a failed build again with other options. Organizers only."""
    row = get_object_or_404(selectors.builds_for(request.user), collection__slug=slug)
    form = OptionsForm(request.POST or None, initial=options_of(row))
    with refusals_in(form):
        if form.is_valid():
            return redirect(services.change(build=row, by=request.user, **form.options))
    page = {"form": form, "build": row}
    return render(request, "building/builds/change.html", page, status=422 if form.errors else 200)


@read_and_post
@creator_required
def delete_build(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask, then delete a build that has ended, and its empty collection. Organizers only."""
    row = get_object_or_404(selectors.builds_for(request.user), collection__slug=slug)
    page = Confirmation(
        act=f"Delete the {row}",
        button="Delete build",
        back=row.get_absolute_url(),
        text="Its files and its empty collection are deleted.",
        changeable=[f"Build it again; its short name {slug} is free then"],
        notified="Nobody.",
        is_danger=True,
    )
    if not page.is_given(request):
        return confirmation_page(request, page, crumbs=[("Collections", reverse("corpus:collections"))])
    services.delete(build=row, by=request.user)
    messages.success(request, f"Deleted the {row}. Its short name {slug} is free again.")
    return redirect("corpus:collections")


@require_safe
@creator_required
def build_file(request: AuthenticatedRequest, slug: str, name: str) -> HttpResponseBase:
    """A file of a build. Organizers only."""
    row = get_object_or_404(selectors.builds_for(request.user), collection__slug=slug)
    file = get_object_or_404(row.files, name=name)
    return stored_file(request, file.file, file.sha256, file.name)
