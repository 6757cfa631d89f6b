"""One real local Spark session for all tests, with an event log that the tests read; and commands that start it."""

import atexit
import json
import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from dpstrata.fielding.frames import spark_session

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
