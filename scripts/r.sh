#!/bin/sh
# Finds or installs R with its packages survey and reticulate, for `make interop`; says what to install where it may not.
set -eu

packages="r-cran-survey r-cran-reticulate"

has_packages() {
  command -v Rscript >/dev/null 2>&1 && Rscript -e 'library(survey); library(reticulate)' >/dev/null 2>&1
}

install() {
  # shellcheck disable=SC2086
  apt-get install -y -qq --no-install-recommends $packages >/dev/null 2>&1
}

has_packages && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing $packages ..."
  install || { apt-get update -qq >/dev/null 2>&1 && install; } || true
fi
has_packages && exit 0
echo "R with its packages survey and reticulate is missing. Install them: apt-get install $packages" >&2
exit 1
