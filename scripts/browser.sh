#!/bin/sh
# Makes sure that there is a Chromium for the tests of the page, where that may be done without asking.
set -eu
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing Chromium for the tests of the page ..."
  apt-get install -y -qq chromium >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || true
fi
command -v chromium >/dev/null 2>&1 || echo "There is no Chromium; the tests of the page will fail and say what to install."
