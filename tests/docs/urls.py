"""The addresses of the site, with the documentation."""

from django.urls import path

from config.documentation import documentation
from config.urls import urlpatterns as site

urlpatterns = [*site, path("manual/", documentation), path("manual/<path:page>", documentation)]
