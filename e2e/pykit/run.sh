#!/bin/sh
# Runs a suite in Python in a virtual environment of its own below .cache/:
#   sh e2e/pykit/run.sh SUITE [pytest arguments]
set -eu
suite=$1
shift
top=$(cd "$(dirname "$0")/../.." && pwd)
if ! python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then
	echo "e2e:$suite needs Python 3.10 or newer as python3, with its module venv (on Debian: apt-get install python3-venv)" >&2
	exit 1
fi
venv=$top/.cache/venv-$suite
want=$(cksum <"$top/e2e/$suite/requirements.txt")
if [ "$(cat "$venv/.requirements" 2>/dev/null || true)" != "$want" ]; then
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$top/e2e/$suite/requirements.txt"
	printf '%s\n' "$want" >"$venv/.requirements"
fi
exec "$venv/bin/python" -m pytest -p no:cacheprovider "$top/e2e/$suite" "$@"
