#!/bin/sh
# Finds or installs what the tests need from the system: a Chromium for the page, Pango for reports as PDF.
# Where it may not install anything, the tests that need it fail and say what to install.
set -eu

has_browser() {
  for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null 2>&1; then return 0; fi
  done
  return 1
}

has_pango() { # what WeasyPrint cannot do without; it may not be installed yet itself
  for name in libpango-1.0.so.0 libpangoft2-1.0.so.0 libharfbuzz-subset.so.0; do
    .venv/bin/python -c "import ctypes; ctypes.CDLL('$name')" >/dev/null 2>&1 || return 1
  done
}

install() {
  echo "Installing for the tests: $* ..."
  apt-get install -y -qq "$@" >/dev/null 2>&1 ||
    { apt-get update -qq >/dev/null 2>&1 && apt-get install -y -qq "$@" >/dev/null 2>&1; }
}

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  # the second is Chromium without a window, which most tests take
  has_browser || install chromium chromium-headless-shell || install chromium || true
  has_pango || install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 || true
fi
has_browser || echo "There is no Chromium; the tests of the page will fail and say what to install."
