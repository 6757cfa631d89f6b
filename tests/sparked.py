"""One real local Spark session for all tests, with an event log that the tests read."""

import atexit
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from unittest.mock import patch

from dpstrata.fielding.frames import spark_session as starting
from extent import FULL

# A Java that lives for a minute spends more on optimising its code than that saves.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

ONE_AFTER_ANOTHER = """
import json, os, sys
from dpstrata.cli import main

for line in sys.stdin:
    commands, last, done = json.loads(line)
    for words in commands:
        sys.argv = ["dpstrata", *words]
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        for stream in (sys.stdout, sys.stderr):
            print(f"({code})", file=stream, flush=True)
    if last:
        break
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    java = spark.sparkContext._gateway.java_parameters
    spark.stop()
    with open(done + ".part", "w") as file:
        json.dump([java.port, java.auth_token], file)
    os.rename(done + ".part", done)
"""


class Newcomer:
    """A process that runs commands one after the other, so that Spark starts once.

    Afterwards it lends its Java to :func:`session`: another one would take as long to start and to load its classes
    as all that tests do with it.
    """

    lent = None

    def __init__(self, folder):
        self._place = Path(tempfile.mkdtemp(prefix="dpstrata-newcomer-"))
        self._files, self._read = [self._place / name for name in ("out", "err")], [0, 0]
        with open(self._files[0], "w") as out, open(self._files[1], "w") as err:
            command = [sys.executable, "-c", ONE_AFTER_ANOTHER]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=out, stderr=err, text=True, cwd=folder
            )

    def run(self, commands):
        """Run commands, lend Java to others, and return the code and the words of each command."""
        done, end = self._place / "java", time.monotonic() + 300
        self._ask(commands, last=False, done=str(done))
        while not done.exists():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < end
            time.sleep(0.05)
        port, secret = json.loads(done.read_text())
        Newcomer.lent = self, {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
        return self._results()

    def end(self, commands):
        """Run the last commands, and end with a session that nobody has stopped; return the same."""
        self._read = [len(file.read_text()) for file in self._files]
        self._ask(commands, last=True, done="")
        self.process.stdin.close()
        assert self.process.wait(timeout=300) == 0, self.said()
        return self._results()

    def said(self):
        """Everything that it, or its Java, has said."""
        return "".join(file.read_text() for file in self._files)

    def _ask(self, commands, **more):
        self.process.stdin.write(json.dumps([commands, *more.values()]) + "\n")
        self.process.stdin.flush()

    def _results(self):
        texts = [file.read_text()[start:] for file, start in zip(self._files, self._read, strict=True)]
        out, code, err, _ = (
            re.split(r"^\((\d)\)\n", text, flags=re.MULTILINE)[start:-1:2]
            for text in texts
            for start in (0, 1)
        )
        assert [text[-4:] for text in texts] == [f"({code[-1]})\n"] * 2  # nothing is said at the end
        return list(zip(map(int, code), out, err, strict=True))


@cache
def session():
    """Start Spark, once; it stops with the process."""
    folder = Path(tempfile.mkdtemp(prefix="dpstrata-spark-"))
    options = {
        "spark.master": "local[2]",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
    }
    if Newcomer.lent and not FULL:
        # which would be somebody's cluster, and configured by them
        with patch.dict(os.environ, Newcomer.lent[1]), patch.object(starting, "_ELSEWHERE", ()):
            spark = starting.spark_session(options)
    else:
        spark = starting.spark_session(options)
    atexit.register(spark.stop)
    return spark, folder


def stop():
    """Stop it before that, if it was started."""
    if session.cache_info().currsize:
        spark, _ = session()
        atexit.unregister(spark.stop)
        spark.stop()
        client = spark.sparkContext._gateway._gateway_client
        client.close()
        client.is_connected = False  # or Java would be told of whatever is freed, even when it is gone


def said_by_java():
    """What a Java has said that was not started here; that of one that was is in the test's own output."""
    return Newcomer.lent[0].said() if Newcomer.lent else ""
