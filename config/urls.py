"""Every address of the site. Each room keeps its own."""

from django.contrib import admin
from django.contrib.auth import views as auth_views
from django.urls import include, path

from config import views

urlpatterns = [
    path("", views.home, name="home"),
    path("health/", views.health, name="health"),
    path("login/", auth_views.LoginView.as_view(template_name="config/login.html"), name="login"),
    path("logout/", auth_views.LogoutView.as_view(), name="logout"),
    path("account/", views.account, name="account"),
    path("account/password/", views.PasswordChange.as_view(), name="password_change"),
    path("", include("corpus.urls")),
    path("", include("pooling.urls")),
    path("", include("assessment.urls")),
    path("", include("scoring.urls")),
    path("admin/", admin.site.urls),
]
