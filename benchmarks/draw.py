"""Measure the secret draw against scanning the two columns it reads; part of ``make bench``.

A process of its own, so that its peak memory is that of the draw. Prints the ratio of the two times and the
peak memory in megabytes.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dpstrata as dps
from dpstrata.fielding.frames import open_frame
from dpstrata.fielding.sample import draw_sample

STRATA = 1000
CHUNK = 2_000_000


def write_frame(path: Path, people: int) -> np.ndarray:
    """Write people with whole-number ids in random strata, and return the strata's sizes."""
    rng = np.random.default_rng(1)
    names = pa.array([f"stratum {i:03}" for i in range(STRATA)])
    schema = pa.schema([("person", pa.int64()), ("region", pa.string())])
    sizes = np.zeros(STRATA, dtype=np.int64)
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, people, CHUNK):
            count = min(CHUNK, people - start)
            codes = rng.integers(0, STRATA, count)
            sizes += np.bincount(codes, minlength=STRATA)
            table = pa.table(
                {"person": np.arange(start, start + count), "region": names.take(codes)}, schema=schema
            )
            writer.write_table(table)
    return sizes


def scan(path: Path) -> float:
    """Time of reading the two columns in batches."""
    start = time.perf_counter()
    with duckdb.connect() as connection:
        relation = connection.sql(f"SELECT person, region FROM read_parquet('{path}')")
        for _ in relation.to_arrow_reader(1 << 16):
            pass
    return time.perf_counter() - start


def peak_megabytes() -> float:
    """Peak memory of this process; getrusage would count what its parent held when it was started."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Write a frame, scan it and draw from it, in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("people", type=int)
    people = parser.parse_args().people
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        sizes = write_frame(path, people)
        names = [f"stratum {i:03}" for i in range(STRATA)]
        plan = dps.design(dps.Strata(sizes, np.full(STRATA, 0.3), names), epsilon=1, total=people // 100)
        frame = open_frame(path, id="person", stratum="region")
        scan(path)
        ratios = []
        for _ in range(3):
            once = scan(path)
            start = time.perf_counter()
            sample = draw_sample(plan, frame, bytes(range(32)))
            ratios.append((time.perf_counter() - start) / once)
        assert len(set(sample.ids)) == people // 100
    print(sorted(ratios)[1], peak_megabytes())


if __name__ == "__main__":
    main()
