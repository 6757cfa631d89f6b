#!/bin/sh
# Installs the project with some of its extras, or other packages, into .venv, in the versions of constraints.txt:
#   scripts/install.sh -e ".[all,dev]"
# With uv, in less than half of pip's time; with pip where uv is not available or pip has sources of its own that uv
# does not know. The environment gets a pip of its own only where it needs one: making that takes as long as the rest.
set -eu

python=.venv/bin/python
base=$(sed -n 's/^executable = //p' .venv/pyvenv.cfg)
quietly="-qq --disable-pip-version-check -c constraints.txt"

pip() {
  if [ -e .venv/bin/pip ]; then $python -m pip "$@"; else "$base" -m pip --python $python "$@"; fi
}

has_other_sources() { # uv reads neither pip's files nor its variables
  echo "$configured" | grep -Eq "(no-index|proxy|client-cert|trusted-host)="
}

has_uv() { # in the version of constraints.txt
  [ -e .venv/bin/uv ] && grep -qx "uv==$(.venv/bin/uv --version | cut -d ' ' -f 2)" constraints.txt
}

with_uv() {
  configured=$(pip config list 2>/dev/null) || return 1
  if has_other_sources; then return 1; fi
  has_uv || pip install $quietly --only-binary :all: uv 2>/dev/null || return 1
  named=$(echo "$configured" | sed -n "s/^global.index-url='\(.*\)'$/\1/p")
  index=${UV_DEFAULT_INDEX:-${PIP_INDEX_URL:-$named}}
  if [ -n "$index" ]; then export UV_DEFAULT_INDEX="$index"; fi
  if [ -n "${PIP_CERT:-}" ]; then export SSL_CERT_FILE="${SSL_CERT_FILE:-$PIP_CERT}"; fi
  .venv/bin/uv pip install -q --python $python -c constraints.txt "$@" 2>/dev/null
}

give_own_pip() {
  $python -m ensurepip --default-pip >/dev/null && return
  echo "pip is missing. Install it: apt-get install python3-venv (Debian, Ubuntu), or a Python with pip." >&2
  exit 1
}

if with_uv "$@"; then exit 0; fi
if [ ! -e .venv/bin/pip ]; then
  give_own_pip
  if ! has_uv && with_uv "$@"; then exit 0; fi
fi
$python -m pip install $quietly "$@"
