"""The table of members exists since the first migration; it becomes a model with fields of its own."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('pooling', '0006_publications'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='Membership',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memberships', to='pooling.team')),
                        ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                    ],
                    options={'db_table': 'pooling_team_members', 'unique_together': {('team', 'user')}},
                ),
                migrations.AlterField(
                    model_name='team',
                    name='members',
                    field=models.ManyToManyField(blank=True, related_name='teams', through='pooling.Membership', to=settings.AUTH_USER_MODEL),
                ),
            ],
        ),
        migrations.CreateModel(
            name='EndedMembership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('joined_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['-ended_at', '-id'],
            },
        ),
        migrations.AddField(
            model_name='membership',
            name='is_contact',
            field=models.BooleanField(default=False, help_text='Manages the team; organizers write to this person.'),
        ),
        migrations.AddField(
            model_name='membership',
            name='joined_at',
            field=models.DateTimeField(null=True),  # of earlier members it is not known
        ),
        migrations.AlterField(
            model_name='membership',
            name='joined_at',
            field=models.DateTimeField(auto_now_add=True, null=True),
        ),
        migrations.AddField(
            model_name='membership',
            name='may_submit',
            field=models.BooleanField(default=True, help_text='May submit and withdraw runs.'),
        ),
        migrations.AddField(
            model_name='team',
            name='organization',
            field=models.CharField(blank=True, help_text='Such as a university or a company.', max_length=200),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.UniqueConstraint(condition=models.Q(('is_contact', True)), fields=('team',), name='team_contact_unique'),
        ),
        migrations.AddField(
            model_name='endedmembership',
            name='ended_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='endedmembership',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='ended_memberships', to='pooling.team'),
        ),
        migrations.AddField(
            model_name='endedmembership',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='ended_memberships', to=settings.AUTH_USER_MODEL),
        ),
    ]
