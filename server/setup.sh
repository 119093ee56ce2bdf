#!/bin/sh
# Finds a Python that Assay can use, and hands over to server/bootstrap.py.
set -eu
cd "$(dirname "$0")/.."
found=""
for name in .venv/bin/python python3 python3.14 python3.13 python3.12 python3.11; do
    command -v "$name" >/dev/null 2>&1 || continue
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
        exec "$name" server/bootstrap.py "$@"
    fi
    found="$found, $name is $("$name" -c 'import sys; print(".".join(map(str, sys.version_info[:2])))' 2>/dev/null || echo broken)"
done
echo "Assay needs Python 3.11 or newer${found:-, and there is no python3 at all}." >&2
echo "On Debian or Ubuntu: apt-get install python3.11 (or a newer one), then call make again." >&2
exit 1
