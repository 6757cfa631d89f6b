"""The same people on every engine that reads frames."""

import itertools

import pyarrow as pa
import pyarrow.parquet as pq

from dpstrata.fielding.frames import open_frame
from postgresql import server
from sparked import session

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
