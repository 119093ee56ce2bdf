"""Pages of a user's account."""

from django.contrib.auth import views as auth_views
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.messages.views import SuccessMessageMixin
from django.urls import reverse_lazy

from accounts.forms import PasswordForm


class PasswordChange(SuccessMessageMixin[PasswordChangeForm], auth_views.PasswordChangeView):
    """Change your own password. Everyone who has logged in."""

    form_class = PasswordForm
    template_name = "accounts/password_change.html"
    success_url = reverse_lazy("account")
    success_message = "Your password was changed."
