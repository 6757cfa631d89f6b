"""One real local Spark session for all tests, with an event log that the tests read."""

import atexit
import os
import tempfile
from functools import cache
from pathlib import Path

from dpstrata.fielding.frames.spark_session import spark_session

# A Java that lives for a minute spends more on optimising and verifying its code than that saves.
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS",
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
)


@cache
def session():
    """Start Spark, once; it stops with the process."""
    folder = Path(tempfile.mkdtemp(prefix="dpstrata-spark-"))
    spark = spark_session(
        {
            "spark.master": "local[2]",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.memory": "1g",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": folder.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        }
    )
    atexit.register(spark.stop)
    return spark, folder
