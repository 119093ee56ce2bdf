"""URLs of the texts of the site."""

from django.urls import path, register_converter

from tracks.models import SitePage
from tracks.pages import views


class PageName:
    """The name of a text."""

    regex = "|".join(SitePage.Name.values)

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(PageName, "site_page")

urlpatterns = [
    path("<site_page:name>/", views.page, name="site_page"),
    path("<site_page:name>/edit/", views.edit, name="edit_site_page"),
]
