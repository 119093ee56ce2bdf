from datetime import timedelta

from django.db import migrations
from django.db.models import F, Q


def mark_stated(apps, schema_editor):
    """Mark the accounts that invited people made, unless an organizer named the address: only those of assessors."""
    uses = apps.get_model("participation", "InvitationUse").objects
    made = uses.filter(used_at__lt=F("user__date_joined") + timedelta(minutes=1), user__guest_until=None)
    stated = made.filter(Q(invitation__email="") | Q(invitation__role="member"), invitation__user=None)
    users = apps.get_model("accounts", "User").objects
    users.filter(pk__in=list(stated.values_list("user", flat=True))).update(has_stated_email=True)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_stated_email_addresses"),
        ("participation", "0001_initial"),
    ]

    operations = [migrations.RunPython(mark_stated, migrations.RunPython.noop)]
