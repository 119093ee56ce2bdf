#!/bin/sh
# Pins the images of the compose files: writes the digests that their tags have in the registry now into .env.
# Run it again to get newer ones. To follow the tags again, empty the variables in .env.
set -eu
cd "$(dirname "$0")/.."
[ -f .env ] || { echo "Copy .env.example to .env first." >&2; exit 1; }

for default in $(grep -Eoh '[A-Z]+_IMAGE:-[^}]+' docker-compose.yml | sort -u); do
    name=${default%%:-*} image=${default#*:-}
    docker pull --quiet "$image" >/dev/null
    digest=$(docker image inspect --format '{{join .RepoDigests "\n"}}' "$image" | grep -m 1 "^${image%%:*}@") \
        || { echo "The registry gives no digest of $image." >&2; exit 1; }
    line="$name=$image@${digest#*@}"
    grep -q "^$name=" .env || echo "$name=" >>.env
    sed -i "s|^$name=.*|$line|" .env
    echo "$line"
done
