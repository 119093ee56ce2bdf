"""Settings, all from the environment (12-factor). A bad value stops the start and names the variable and the value."""

import socket
from datetime import timedelta
from pathlib import Path

import django_stubs_ext
from csp.constants import NONE, SELF
from kombu import Queue

from assay.extensions import ExtensionError, installed
from assay.version import VERSION
from server import environment, paths

django_stubs_ext.monkeypatch()

BASE_DIR = paths.ROOT
VAR_DIR = paths.var_folder()
DEBUG = environment.no_debug_pages("DEBUG", https="HTTPS")
SECRET_KEY = environment.secret("SECRET_KEY", VAR_DIR / "secret_key")
SECRET_KEY_FALLBACKS = environment.words("SECRET_KEY_FALLBACKS")
# Of links in e-mails and of those that organizers copy; empty: that of the request
SITE_URL = environment.origin("SITE_URL")
LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
# On a site with another address, the local names are for health checks alone (LocalHostMiddleware)
ALLOWED_HOSTS = [
    *environment.words("ALLOWED_HOSTS"),
    *filter(None, [environment.host_of(SITE_URL)]),
    *LOCAL_HOSTS,
]
CSRF_TRUSTED_ORIGINS = environment.origins("CSRF_TRUSTED_ORIGINS")

# From the bottom up; those with models that organizers see in the admin
OWN_APPS = [
    *("accounts", "jobs", "corpus", "tracks", "participation", "pooling", "assessment", "scoring"),
    "publishing",
]
try:
    SELECTED = {known.extension.name for known in installed()}
except ExtensionError:  # the system checks name it
    SELECTED = set()
# Those with a site part
SITES = (
    "analyses",
    "answers",
    "baselines",
    "battles",
    "blinding",
    "building",
    "estimates",
    "machines",
    "metaevaluation",
    "papers",
    "turkle",
)
EXTENSIONS = [name for name in SITES if name in SELECTED]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "web",
    *OWN_APPS,
    *(f"assay_extensions.{name}.site" for name in EXTENSIONS),
    "demo",
    "config",
]

MIDDLEWARE = [
    "config.middleware.RequestIdMiddleware",  # first, because it needs the address of the proxy
    "config.middleware.ClientAddressMiddleware",
    "config.middleware.LocalHostMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",  # first, so that the responses of other middleware have a policy too
    "config.middleware.StrictMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.compression.CompressionMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "config.middleware.ActorMiddleware",
    "config.middleware.FileMiddleware",
    "config.middleware.PrivateMiddleware",
    "config.middleware.VisitMiddleware",
    "config.middleware.LanguageMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "config.uploads.UploadLimitMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.middleware.RefusalMiddleware",
    "axes.middleware.AxesMiddleware",
]

CORS_ORIGINS = environment.origins("CORS_ORIGINS", every="*")
if CORS_ORIGINS:
    MIDDLEWARE.insert(3, "config.middleware.CorsMiddleware")

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [
            BASE_DIR / "templates",
            *(BASE_DIR / "assay_extensions" / name / "site" / "templates" for name in EXTENSIONS),
        ],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["config.templates.Loader", "django.template.loaders.app_directories.Loader"],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "home.help.frame",
                "config.chairs.permissions",
            ],
            "builtins": ["django.templatetags.i18n", "config.templatetags.texts"],
        },
    }
]

FORM_RENDERER = "web.forms.Renderer"

DATABASES = {
    "default": environment.database(
        "DATABASE_URL",
        paths.database_url(paths.data(VAR_DIR)),
        password=environment.text("DATABASE_PASSWORD"),
    )
    | {"CONN_HEALTH_CHECKS": True, "CONN_MAX_AGE": 60}
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.User"
# After ten wrong passwords for a user name from one address, that pair has to wait, or to use a link.
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "accounts.backends.SiteBackend"]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_USERNAME_CALLABLE = "accounts.backends.counted_name"
AXES_CLIENT_IP_CALLABLE = "web.throttling.network_of"
AXES_LOCKOUT_CALLABLE = "accounts.views.locked"
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # so that nobody can make it last forever
AXES_RESET_ON_SUCCESS = True
AXES_ENABLE_ADMIN = False
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False
PASSWORD_RESET_TIMEOUT = 30 * 60  # seconds for which a login link is valid
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "start"
LOGOUT_REDIRECT_URL = "home"

LANGUAGE_CODE = "en-us"  # of the source; the pages of assessors are translated. Decision: ADR 72
LANGUAGES = [("en-us", "English"), ("ar", "العربية"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = environment.text("STATIC_ROOT") or str(VAR_DIR / "static")
STATICFILES_DIRS = [BASE_DIR / "static"]
MEDIA_ROOT = VAR_DIR / "files"  # no URL serves it: each file is sent by a view that checks permissions
# Where several machines keep files; without it, they are in MEDIA_ROOT.
S3_BUCKET = environment.text("S3_BUCKET")
S3_OPTIONS = {
    "bucket_name": S3_BUCKET,
    "endpoint_url": environment.address("S3_ENDPOINT_URL"),
    "region_name": environment.text("S3_REGION"),
    "access_key": environment.text("S3_ACCESS_KEY"),
    "secret_key": environment.text("S3_SECRET_KEY"),
    "location": environment.text("S3_PREFIX"),
}
S3_CACHE_BYTES = int(environment.number("S3_CACHE_MB", 4096) * 1024 * 1024)
if S3_BUCKET:
    environment.require_packages("S3_BUCKET", "boto3", "storages", file="requirements-s3.txt")
    FILES = {"BACKEND": "jobs.files.s3.ObjectStorage", "OPTIONS": {k: v for k, v in S3_OPTIONS.items() if v}}
else:
    FILES = {"BACKEND": "jobs.files.storage.FolderStorage"}
STORAGES = {
    "default": FILES,
    "staticfiles": {
        "BACKEND": "config.compression.StaticFilesStorage",
        # not those of uploads: the account that collects the files may differ from the one that serves them
        "OPTIONS": {"file_permissions_mode": 0o644, "directory_permissions_mode": 0o755},
    },
}

FILE_UPLOAD_PERMISSIONS = 0o600
FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o700
FILE_UPLOAD_HANDLERS = ["config.uploads.InMemory", "config.uploads.Temporary"]
UPLOAD_MAX_BYTES = int(environment.number("UPLOAD_MAX_MB", 1024, least=1)) * 1024 * 1024
# Unless a team has its own limit
TEAM_MAX_BYTES = int(environment.number("TEAM_MAX_MB", 10_000, least=1)) * 1_000_000
TEAM_DOCUMENT_MAX_BYTES = int(environment.number("TEAM_DOCUMENT_MAX_MB", 50, least=1)) * 1_000_000
ANONYMOUS_UPLOAD_MAX_BYTES = 1024 * 1024
IMPORT_DIR = environment.text("ASSAY_IMPORT_DIR")  # organizers may import files of this folder only
# The data sets that organizers may fetch with ir_datasets, and how large one may be with its downloads
IR_DATASETS = environment.patterns("IR_DATASETS")
IR_DATASETS_MAX_BYTES = int(environment.number("IR_DATASETS_MAX_MB", 4096, least=1)) * 1024 * 1024
if IR_DATASETS:
    environment.require_packages("IR_DATASETS", "ir_datasets", file="requirements-ir-datasets.txt")

globals().update(environment.mail("EMAIL_URL"))
SENDS_MAIL = bool(environment.text("EMAIL_URL"))
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if SENDS_MAIL else 'dummy'}.EmailBackend"
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = environment.text("DEFAULT_FROM_EMAIL", "Assay <assay@localhost>")

CELERY_BROKER_URL = environment.broker(
    "REDIS_URL", paths.broker_url(VAR_DIR), password=environment.text("REDIS_PASSWORD")
)
# Longer than any task. Redis delivers a message again after this time; while its job runs, that is harmless.
VISIBILITY_SECONDS = 12 * 3600
if CELERY_BROKER_URL.startswith("filesystem:"):
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, str | float] = environment.queue_folders(VAR_DIR / "queue")
else:
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "visibility_timeout": VISIBILITY_SECONDS,
        # A page that starts a job waits for a Redis that does not answer so long and not longer; beat repeats it.
        "socket_timeout": 5,
        "socket_connect_timeout": 2,
        "max_retries": 1,
        "interval_start": 0.2,
    }
# Another version may store other values under a key, so it does not read these.
CACHES = {
    "default": environment.cache(CELERY_BROKER_URL, VAR_DIR / "cache" / "pages") | {"KEY_PREFIX": VERSION}
}
HOST_NAME = environment.text("ASSAY_HOST", socket.gethostname())
# A worker takes the jobs that any worker can do, and those that need a file of its machine (jobs.selectors).
CELERY_TASK_QUEUES = [Queue("celery"), Queue(f"host.{HOST_NAME}")]
if IMPORT_DIR and Path(IMPORT_DIR).is_dir():
    CELERY_TASK_QUEUES.append(Queue("import-folder"))
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_MAX_MEMORY_PER_CHILD = int(1000 * environment.number("PROCESS_MAX_MB", 300, least=1))
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_BEAT_SCHEDULER = "jobs.watchdog:WatchedScheduler"
BEAT_FILE = VAR_DIR / "run" / "beat"
JOB_HEARTBEAT_SECONDS = environment.number("JOB_HEARTBEAT_SECONDS", 5, least=0.1)
JOB_LOST_AFTER_SECONDS = environment.number("JOB_LOST_AFTER_SECONDS", 30, least=0.3)
JOB_TIME_LIMIT_HOURS = environment.number("JOB_TIME_LIMIT_HOURS", 24, least=0.001)
CELERY_BEAT_SCHEDULE = {
    "relaunch-lost-jobs": {"task": "jobs.tasks.relaunch_lost_jobs", "schedule": JOB_LOST_AFTER_SECONDS / 3},
    "delete-unclaimed-files": {"task": "jobs.files.tasks.delete_unclaimed", "schedule": 600.0},
    "release-leaderboards": {"task": "scoring.leaderboards.release_due", "schedule": 20.0},
    "settle-deadlines": {"task": "tracks.deadlines.settle", "schedule": 20.0},
    "remind-teams": {"task": "pooling.runs.remind_due", "schedule": 300.0},
    "expire-tasks": {"task": "assessment.tasks.expire", "schedule": 60.0},
    "send-letters": {"task": "accounts.tasks.send_letters", "schedule": 60.0},
    "deliver-to-webhooks": {"task": "tracks.webhooks.deliver", "schedule": 60.0},
    "delete-built-folders": {"task": "corpus.tasks.delete_work_folders", "schedule": 600.0},
    "clear-expired": {"task": "accounts.tasks.clear_expired", "schedule": 3600.0},
}

# Backups on a schedule, made by the workers that have the folder or the bucket
BACKUP_DIR = environment.backup_folder("BACKUP_DIR")
BACKUP_RECIPIENT = environment.recipients("BACKUP_RECIPIENT")
BACKUP_AT = environment.hour("BACKUP_AT", "03:00")
BACKUP_KEEP = environment.retention("BACKUP_KEEP", "7,4,12")
BACKUP_MAX_AGE_HOURS = environment.number("BACKUP_MAX_AGE_HOURS", 26, least=1)
if BACKUP_DIR:
    CELERY_TASK_QUEUES.append(Queue("backups"))
    CELERY_BEAT_SCHEDULE["watch-backups"] = {"task": "jobs.backups.tasks.watch", "schedule": 300.0}

# Webhooks: what an address may be, apart from https:// and a public one
WEBHOOKS_OVER_HTTP = environment.boolean("WEBHOOKS_OVER_HTTP")
WEBHOOKS_TO_PRIVATE_ADDRESSES = environment.boolean("WEBHOOKS_TO_PRIVATE_ADDRESSES")
# Models that jobs may call for machines: base addresses, each with the environment variable of its key
JUDGE_ADDRESSES = environment.judge_addresses("JUDGE_ADDRESSES", over_http=WEBHOOKS_OVER_HTTP)
if JUDGE_ADDRESSES:
    environment.require_packages("JUDGE_ADDRESSES", "httpx", file="requirements-judges.txt")

# The API. Limits are per minute: of a user, and of an address without a token.
API_REQUESTS_PER_MINUTE = int(environment.number("API_REQUESTS_PER_MINUTE", 1200, least=1))
API_VISITOR_REQUESTS_PER_MINUTE = int(environment.number("API_VISITOR_REQUESTS_PER_MINUTE", 60, least=1))
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.backends.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["web.api.permissions.LoggedIn"],
    "DEFAULT_THROTTLE_CLASSES": ["web.api.throttles.RequestThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["web.api.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "web.api.schema.Schema",
    "DEFAULT_METADATA_CLASS": None,
    "EXCEPTION_HANDLER": "web.api.problems.handle",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Assay",
    "DESCRIPTION": "What the pages of the site do, for programs: each form and each file, except those that only a "
    "person needs. Read the reference of the API first: it names them.",
    "VERSION": VERSION,
    "SERVERS": [{"url": SITE_URL or "/"}],
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "PREPROCESSING_HOOKS": ["web.api.schema.in_order"],
    # Enumerations stay where they are used: many fields are named `status` or `kind`
    "POSTPROCESSING_HOOKS": ["web.api.schema.for_generated_clients", "config.api.with_examples"],
    "SORT_OPERATIONS": False,
}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
HTTPS = environment.boolean("HTTPS")
SECURE_SSL_REDIRECT = environment.boolean("SECURE_SSL_REDIRECT", default=HTTPS)
SECURE_REDIRECT_EXEMPT = [r"^health/$"]
SECURE_HSTS_SECONDS = int(environment.number("SECURE_HSTS_SECONDS", 0))
SECURE_HSTS_INCLUDE_SUBDOMAINS = environment.boolean("SECURE_HSTS_INCLUDE_SUBDOMAINS")
SECURE_HSTS_PRELOAD = environment.boolean("SECURE_HSTS_PRELOAD")
BEHIND_PROXY = environment.boolean("BEHIND_PROXY")
if BEHIND_PROXY:  # safe only if the proxy always sets these headers
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    USE_X_FORWARDED_HOST = True
TRUSTED_PROXIES = environment.proxies("TRUSTED_PROXIES")
FORCE_SCRIPT_NAME = environment.text("FORCE_SCRIPT_NAME") or None
SESSION_ENGINE = "accounts.backends"
SESSION_COOKIE_AGE = int(environment.number("SESSION_IDLE_HOURS", 7 * 24, least=0.1) * 3600)
SESSION_MAX_SECONDS = int(environment.number("SESSION_MAX_DAYS", 30, least=0.1) * 24 * 3600)
SESSION_COOKIE_SECURE = HTTPS
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_HTTPONLY = True
CSRF_COOKIE_SECURE = HTTPS
CSRF_FAILURE_VIEW = "home.errors.expired_form"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
NO_FEATURES = ("camera", "display-capture", "geolocation", "microphone", "midi", "payment", "serial", "usb")
PERMISSIONS_POLICY = ", ".join(f"{feature}=()" for feature in NO_FEATURES)  # also of the frames of a page
# Only the owner of a domain can decide that it and its subdomains use HTTPS for good.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

# What an administrator watches. Off, it costs nothing: no middleware, and no package is imported.
METRICS_TOKEN = environment.token("METRICS_TOKEN")
METRICS_ALLOWED = environment.networks("METRICS_ALLOWED")
METRICS_DIR = VAR_DIR / "run" / "metrics"
ACCESS_LOG = environment.boolean("ACCESS_LOG")
SENTRY_DSN = environment.address("SENTRY_DSN")
TRACES_URL = environment.address("OTEL_EXPORTER_OTLP_ENDPOINT")
for is_on, packages, names, middleware in (
    (TRACES_URL, "opentelemetry", "OTEL_EXPORTER_OTLP_ENDPOINT", "traces.TraceMiddleware"),
    (
        METRICS_TOKEN or METRICS_ALLOWED,
        "prometheus_client",
        "METRICS_TOKEN or METRICS_ALLOWED",
        "metrics.MetricsMiddleware",
    ),
    (ACCESS_LOG, "", "ACCESS_LOG", "requests.AccessLogMiddleware"),
    (SENTRY_DSN, "sentry_sdk", "SENTRY_DSN", ""),
):
    if is_on and packages:
        environment.require_packages(names, packages, file="requirements-monitoring.txt")
    if is_on and middleware:  # behind those that find the id of the request and the address of the client
        MIDDLEWARE.insert(2, f"config.monitoring.{middleware}")
if TRACES_URL:
    CELERY_IMPORTS = ["config.monitoring.traces"]
if SENTRY_DSN:
    from config.monitoring import errors

    errors.start(dsn=SENTRY_DSN, machine=HOST_NAME)

# Other ways to log in, by django-allauth (ADR 21). Off, nothing of it is imported or installed.
SIGN_IN_PROVIDERS = environment.providers("SIGN_IN_PROVIDERS", by_email="SIGN_IN_BY_EMAIL")
SIGN_IN_ACCOUNTS = environment.new_accounts("SIGN_IN_ACCOUNTS")
SECOND_FACTOR = environment.boolean("SECOND_FACTOR")
SIGN_IN = bool(SIGN_IN_PROVIDERS) or SECOND_FACTOR
if SIGN_IN:
    environment.require_packages(
        "SIGN_IN_PROVIDERS, ORCID_CLIENT_ID or SECOND_FACTOR",
        *("allauth", "jwt", "qrcode"),
        file="requirements-sign-in.txt",
    )
    INSTALLED_APPS += ["allauth.account", "allauth.socialaccount"]
    # before what records logins: it refuses those without a code
    INSTALLED_APPS.insert(INSTALLED_APPS.index("config"), "accounts.signin")
    MIDDLEWARE.append("allauth.account.middleware.AccountMiddleware")
    ACCOUNT_ADAPTER = "accounts.signin.adapters.AccountAdapter"
    ACCOUNT_EMAIL_VERIFICATION = "none"  # the site keeps addresses itself
    ACCOUNT_LOGIN_METHODS = {"username"}
    ACCOUNT_SIGNUP_FIELDS = ["username*"]
    ACCOUNT_REAUTHENTICATION_REQUIRED = True  # before a way to log in is added or removed
    SOCIALACCOUNT_ADAPTER = "accounts.signin.adapters.ProviderAdapter"
    SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": SIGN_IN_PROVIDERS}}
if SECOND_FACTOR:
    INSTALLED_APPS += ["allauth.mfa"]
    MIDDLEWARE.append("accounts.signin.second_factor.SecondFactorMiddleware")
    MFA_ADAPTER = "accounts.signin.second_factor.Adapter"
    MFA_RECOVERY_CODES_SHOW_ONCE = True

LOG_LEVEL = environment.one_of("LOG_LEVEL", ["DEBUG", "INFO", "WARNING", "ERROR"], "WARNING")
LOG_FORMAT = environment.one_of("LOG_FORMAT", ["text", "json"], "text")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"route": {"()": "web.logs.RouteFilter"}},
    "formatters": {
        "text": {
            "()": "web.logs.RedactingFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        },
        "json": {"()": "web.logs.JsonFormatter"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT, "filters": ["route"]}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "assay.access": {"level": "INFO"},  # ACCESS_LOG alone switches it on
        "django": {"handlers": [], "level": LOG_LEVEL, "propagate": True},
        "django.request": {"level": "ERROR"},  # no log line for a 404
        "kombu.connection": {"level": "ERROR"},  # it reports that a queue in a folder has no host
    },
}
