#!/bin/sh
# Finds or installs R with its package survey, for `make interop`; says what to install where it may not.
set -eu

has_survey() {
  command -v Rscript >/dev/null 2>&1 && Rscript -e 'library(survey)' >/dev/null 2>&1
}

has_survey && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing r-cran-survey ..."
  apt-get install -y -qq --no-install-recommends r-cran-survey >/dev/null 2>&1 ||
    { apt-get update -qq >/dev/null 2>&1 &&
      apt-get install -y -qq --no-install-recommends r-cran-survey >/dev/null 2>&1; } || true
fi
has_survey && exit 0
echo "R with its package survey is missing. Install it: apt-get install r-cran-survey" >&2
exit 1
