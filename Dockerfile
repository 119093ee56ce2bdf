# The image of web, worker and beat. Build: docker compose build
ARG PYTHON_IMAGE=python:3.13-slim
ARG NODE_IMAGE=node:24-slim

FROM ${NODE_IMAGE} AS front-end
WORKDIR /assay
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${PYTHON_IMAGE} AS packages
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_ROOT_USER_ACTION=ignore STATIC_ROOT=/assay/collected
WORKDIR /assay
COPY requirements.txt requirements-s3.txt requirements-monitoring.txt requirements-postgres.txt requirements-sign-in.txt \
    requirements-backups.txt requirements-ir-datasets.txt requirements-judges.txt requirements-parquet.txt constraints.txt /tmp/requirements/
RUN pip install -r /tmp/requirements/requirements.txt -r /tmp/requirements/requirements-s3.txt \
    -r /tmp/requirements/requirements-monitoring.txt -r /tmp/requirements/requirements-postgres.txt \
    -r /tmp/requirements/requirements-sign-in.txt -r /tmp/requirements/requirements-backups.txt \
    -r /tmp/requirements/requirements-ir-datasets.txt -r /tmp/requirements/requirements-judges.txt \
    -r /tmp/requirements/requirements-parquet.txt && rm -rf /tmp/requirements

# What only the build needs stays in this stage: the packages of the front end, Sphinx, and sources of the documentation
FROM packages AS site
COPY requirements-docs.txt constraints.txt ./
RUN pip install -r requirements-docs.txt
COPY . .
COPY --from=front-end /assay/node_modules node_modules
RUN python -m sphinx -c maintenance/docs -q -W -b html -d /tmp/doctrees docs docs/_build/html
# A key for this one command: nothing that it makes depends on it.
RUN python server/assets.py && rm -rf node_modules && python -m compileall -q . \
    && SECRET_KEY=only-to-collect-the-static-files-at-build-time python manage.py collectstatic --noinput --verbosity 0

FROM packages
RUN useradd --system --uid 999 --user-group --no-create-home assay \
    && mkdir -p /var/lib/assay/tmp /backups && chown -R assay:assay /var/lib/assay /backups
COPY --from=site /assay ./
# Large uploads go to the volume, because /tmp of a container is in memory
ENV ASSAY_VAR=/var/lib/assay TMPDIR=/var/lib/assay/tmp
USER assay
VOLUME /var/lib/assay
EXPOSE 8000
CMD ["gunicorn", "-c", "server/gunicorn.py", "--bind", "0.0.0.0:8000", "config.wsgi"]
