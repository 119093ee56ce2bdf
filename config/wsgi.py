"""The WSGI application that gunicorn serves."""

import os

from django.core.wsgi import get_wsgi_application

from config.middleware.malformed import only_utf8

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = only_utf8(get_wsgi_application())
