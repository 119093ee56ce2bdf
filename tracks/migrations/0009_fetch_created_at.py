from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("tracks", "0008_skipped_points")]

    operations = [migrations.RenameField("fetch", "fetched_at", "created_at")]
