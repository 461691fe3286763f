"""Sources, lakes, and what is in them."""

from __future__ import annotations

import json
import shutil
import uuid
from pathlib import Path
from typing import Any

from tests.session.build import DATA, Build, use
from tests.surfaces.machines import copy_recorded
from turnlog.export.table_columns import TABLE_COLUMNS
from turnlog.store.lake.lake import Lake
from turnlog.store.usage.groupings import build_usage_report
from turnlog.store.usage.usage_reports import UsageReport, parse_usage_request

KEY = "a key for tests that nobody else has"
Rows = dict[str, list[dict[str, Any]]]


def add_recorded(config: Path) -> Path:
    """Fill a config folder with sessions that real clients of several versions recorded."""
    copy_recorded(config, (DATA / "sessions").glob("*/*"))
    return config


def build_session(prompts: int = 2, *, cwd: str = "/home/dana/shop", secret: str | None = None) -> Build:
    """A small session with answers, calls and usage."""
    build = Build()
    for number in range(prompts):
        build.prompt(f"prompt {number}" + (f" with the key {secret}" if secret else ""), cwd=cwd)
        name = uuid.uuid4().hex[:12]
        counts = {"input_tokens": 10, "output_tokens": 20 + number, "cache_read_input_tokens": 100}
        build.answer(use(f"call_{name}", "Bash", {"command": "ls"}), id=f"msg_{name}", stop="tool_use", usage=counts)
        build.result(f"call_{name}", "a\nb", error=number % 2 == 1)
    return build


def add_session(config: Path, build: Build | bytes, *, slug: str = "-home-dana-shop", name: str | None = None) -> Path:
    """Write a session into a config folder."""
    path = config / "projects" / slug / f"{name or uuid.uuid4()}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(build if isinstance(build, bytes) else build.data())
    return path


def read_rows(lake: Path | str, *without: str) -> Rows:
    """Read all rows of a lake, in an order that doesn't depend on how it was built."""
    found: Rows = {}
    with Lake(str(lake)) as opened:
        for table in TABLE_COLUMNS:
            result = opened.db.sql(f"SELECT * FROM {table if table != 'sessions' else 'session_rows'}")
            rows = result.to_arrow_table().to_pylist()
            kept = [{name: value for name, value in row.items() if name not in without} for row in rows]
            found[table] = sorted(kept, key=lambda row: json.dumps(row, default=str, sort_keys=True))
    return found


def report_usage_of(config: Path, data: Path, kind: str) -> UsageReport:
    """The report of `turnlog usage` from an index of the same files."""
    from turnlog.store.store import Store

    store = Store.open(data)
    try:
        store.refresh([config])
        return build_usage_report(store.db, parse_usage_request(kind, timezone="UTC"))
    finally:
        store.close()


def copy_config(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target
