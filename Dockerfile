# The image of web, worker and beat. Build: docker compose build
FROM node:24-slim AS front-end
WORKDIR /assay
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM python:3.13-slim AS documentation
WORKDIR /assay
COPY requirements.txt requirements-docs.txt constraints.txt ./
RUN pip install --no-cache-dir -r requirements.txt -r requirements-docs.txt
COPY . .
RUN python -m sphinx -c maintenance/docs -q -W -b html -d /tmp/doctrees docs docs/_build/html

FROM python:3.13-slim
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 ASSAY_VAR=/var/lib/assay
WORKDIR /assay
COPY requirements.txt requirements-s3.txt requirements-monitoring.txt requirements-postgres.txt requirements-sign-in.txt \
    requirements-backups.txt requirements-ir-datasets.txt constraints.txt ./
RUN pip install -r requirements.txt -r requirements-s3.txt -r requirements-monitoring.txt -r requirements-postgres.txt \
    -r requirements-sign-in.txt -r requirements-backups.txt -r requirements-ir-datasets.txt
COPY . .
COPY --from=front-end /assay/node_modules node_modules
COPY --from=documentation /assay/docs/_build/html docs/_build/html
# A key for this one command: nothing that it makes depends on it.
RUN python -m compileall -q -x /node_modules/ . && python server/assets.py && rm -rf node_modules \
    && useradd --system --user-group --no-create-home assay \
    && STATIC_ROOT=/assay/collected SECRET_KEY=only-to-collect-the-static-files-at-build-time python manage.py collectstatic --noinput --verbosity 0 \
    && mkdir -p /var/lib/assay/tmp /backups && chown -R assay:assay /var/lib/assay /backups
# Large uploads go to the volume, because /tmp of a container is in memory
ENV STATIC_ROOT=/assay/collected TMPDIR=/var/lib/assay/tmp
USER assay
VOLUME /var/lib/assay
EXPOSE 8000
CMD ["gunicorn", "-c", "server/gunicorn.py", "--bind", "0.0.0.0:8000", "config.wsgi"]
