"""One real local Spark session for all tests, with an event log that the tests read."""

import atexit
import os
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
