"""The command line, run as a user would."""

import subprocess
import sys


def run(folder, *arguments, **more):
    """Run a command of dpstrata in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "dpstrata", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
        **more,
    )
