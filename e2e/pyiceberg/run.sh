#!/bin/sh
# Runs the PyIceberg suite: ./task e2e:pyiceberg [-- pytest arguments]
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
if ! command -v python3 >/dev/null 2>&1; then
	echo "e2e:pyiceberg needs Python 3.10 or newer as python3" >&2
	exit 1
fi
venv=$top/.cache/venv-pyiceberg
want=$(cksum <"$top/e2e/pyiceberg/requirements.txt")
if [ "$(cat "$venv/.requirements" 2>/dev/null || true)" != "$want" ]; then
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$top/e2e/pyiceberg/requirements.txt"
	printf '%s\n' "$want" >"$venv/.requirements"
fi
exec "$venv/bin/python" -m pytest -p no:cacheprovider "$top/e2e/pyiceberg" "$@"
