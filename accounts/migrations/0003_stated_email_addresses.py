from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_session_version"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="has_stated_email",
            field=models.BooleanField(
                db_default=False,
                default=False,
                editable=False,
                help_text="Nobody but the user, or a member of a team, has stated the address.",
            ),
        ),
    ]
