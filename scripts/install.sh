#!/bin/sh
# Installs the project with some of its extras into .venv, in the versions of constraints.txt:
#   scripts/install.sh all,spark,dev
# With uv, which takes a quarter of pip's time; with pip where uv cannot be had or cannot reach the packages.
set -eu

python=.venv/bin/python
quietly="-qq --disable-pip-version-check -c constraints.txt"

with_uv() {
  $python -m pip install $quietly uv 2>/dev/null || return 1
  # uv does not read pip's settings: the index that pip was told to use is the one to use here
  index=$($python -m pip config get global.index-url 2>/dev/null) && export UV_DEFAULT_INDEX="$index"
  VIRTUAL_ENV=.venv .venv/bin/uv pip install -q -c constraints.txt -e ".[$1]" 2>/dev/null
}

with_uv "$1" || $python -m pip install $quietly -e ".[$1]"
