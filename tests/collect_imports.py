"""What a collector imports: loaded once, before processes are forked that collect."""

# ruff: noqa: F401
import cryptography.hazmat.primitives.hpke
import psycopg
import uvicorn
import uvicorn.lifespan.on
import uvicorn.loops.auto
import uvicorn.protocols.http.h11_impl

import dpstrata.cli.cmd_collect
import dpstrata.collect.contract
import dpstrata.collect.postgresql_store
import dpstrata.collect.serving
import dpstrata.collect.sqlite_store
import survey_imports
