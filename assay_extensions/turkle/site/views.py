"""The pages on which organizers import projects of Turkle as tracks."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from accounts.access import AuthenticatedRequest, creator_required
from assay_extensions.turkle.site import services
from assay_extensions.turkle.site.forms import NamesForm, ProjectsForm
from assessment.imports.selectors import project_imports
from web.forms import refusals_in
from web.pages import read_and_post

SHOWN = 50


@read_and_post
@creator_required
def projects(request: AuthenticatedRequest) -> HttpResponse:
    """The imports of projects, and the form that starts one. Organizers only."""
    form = ProjectsForm(request.POST or None, request.FILES or None)
    with refusals_in(form, "upload"):
        if form.is_valid():
            return redirect(services.start(uploads=form.cleaned_data["upload"], by=request.user))
    context = {"imports": project_imports(request.user)[:SHOWN], "form": form}
    return render(request, "turkle/projects.html", context, status=400 if form.errors else 200)


@read_and_post
@creator_required
def project_import(request: AuthenticatedRequest, upload_id: int) -> HttpResponse:
    """Show what an import would make; a POST sets names and accounts, and checks it again. Organizers only."""
    source = get_object_or_404(project_imports(request.user), pk=upload_id)
    form = NamesForm(request.POST or None, source=source)
    if request.method == "POST" and form.is_valid():
        services.remap(source=source, mapping=form.mapping)
        return redirect(source)
    context = {"layout": "base.html", "source": source, "report": source.report, "form": form}
    return render(request, "turkle/import.html", context, status=400 if form.errors else 200)


@require_POST
@creator_required
def run(request: AuthenticatedRequest, upload_id: int) -> HttpResponse:
    """Import checked projects. Organizers only."""
    source = get_object_or_404(project_imports(request.user), pk=upload_id)
    services.request_import(source=source)
    return redirect(source)


@require_POST
@creator_required
def discard(request: AuthenticatedRequest, upload_id: int) -> HttpResponse:
    """Delete an upload that was not imported. Organizers only."""
    source = get_object_or_404(project_imports(request.user), pk=upload_id)
    services.discard(source=source)
    messages.success(request, f"{source.name} was deleted. Nothing was imported from it.")
    return redirect("turkle:projects")
