"""Name the time of the e-mails about a release for what it is."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("scoring", "0009_scheduled_releases")]

    operations = [migrations.RenameField("leaderboard", "teams_told_at", "mailed_at")]
