"""Turns labelled recordings of a terminal into recordings of ours: `python -m tests.interop.live.import_labels FOLDER`.

The labelled ones (`*.json.zst`) hold every byte that a client wrote, which of its processes lived when, and what its
screen showed. They hold neither what hooks received nor how much the processes read and wrote.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.interop.live.screen import TRUE_STATES
from tests.interop.live.state_recording import DOMAIN, Recording, TruthInterval

_RECORDED_DOMAIN = "linux:" + "0" * 32 + ":pid:[4026531836]"
_FIRST_CHILD_PID = 900_000
_TICKS_PER_SECOND = 100
_CORRECTED_LABELS = {("plan_refused", "idle"): "interrupted"}
"""Where a screen that looks idle follows a refusal, which the client counts as an interruption."""


def convert(document: dict[str, Any]) -> Recording:
    """Convert a labelled recording."""
    boot = document["began"] - find_boot_offset(document)
    steps = [*_list_file_steps(document), *_list_process_steps(document, boot)]
    steps.sort(key=lambda step: step["t"])
    head = document["name"], document["client"], False, document["began"], boot
    return Recording(*head, str(Path(document["cwd"]).parent), steps, list(_list_truth(document)))


def find_boot_offset(document: dict[str, Any]) -> float:
    """Return how many seconds before the start of the recording clock tick 0 was."""
    alive = next(event for event in document["events"] if event["op"] == "alive" and event["alive"])
    registration = next(
        json.loads(event["data"])
        for event in document["events"]
        if event.get("path") == f"sessions/{alive['pid']}.json" and event["op"] == "write"
    )
    return float(int(registration["procStart"]) / _TICKS_PER_SECOND - alive["t"])


def _list_file_steps(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    config = f"{Path(document['cwd']).parent}/.claude/"
    for event in document["events"]:
        if event["op"] not in ("append", "write", "delete"):
            continue
        name = str(event["path"]).removeprefix(config)
        if event["op"] == "delete":
            yield {"t": event["t"], "file": name, "gone": True}
            continue
        data = base64.b64decode(event["b64"]).decode("utf-8", "surrogateescape") if "b64" in event else event["data"]
        key = "add" if event["op"] == "append" else "set"
        yield {"t": event["t"], "file": name, key: data.replace(_RECORDED_DOMAIN, DOMAIN)}


def _list_process_steps(document: dict[str, Any], boot: float) -> Iterator[dict[str, Any]]:
    """List the processes whenever one starts or ends; a child has no id of its own, so it gets one by its command."""
    clients: dict[str, list[Any]] = {}
    children: dict[str, dict[str, list[Any]]] = {}
    next_pid = _FIRST_CHILD_PID
    for event in document["events"]:
        if event["op"] == "alive":
            words = " ".join(["claude", *event.get("args", ())])
            start = str(round((document["began"] + event["t"] - boot) * _TICKS_PER_SECOND))
            clients.pop(event["client"], None)
            children.pop(event["client"], None)
            if event["alive"]:
                clients[event["client"]] = [event["pid"], 1, start, "claude", document["cwd"], words]
        elif event["op"] == "children" and event["client"] in clients:
            known, parent = children.get(event["client"], {}), clients[event["client"]][0]
            rows: dict[str, list[Any]] = {}
            start = str(round((document["began"] + event["t"] - boot) * _TICKS_PER_SECOND))
            for command in event["commands"]:
                rows[command] = known.get(command) or [next_pid, parent, start, "sh", document["cwd"], command]
                next_pid += 1
            children[event["client"]] = rows
        else:
            continue
        yield {"t": event["t"], "processes": [*clients.values(), *(r for c in children.values() for r in c.values())]}


def _list_truth(document: dict[str, Any]) -> Iterator[TruthInterval]:
    """List the states that are beyond doubt; before the first prompt there is no transcript."""
    for session, rows in document["truth"].items():
        for start, end, label, detail, is_sure in rows:
            state = "shell" if (label, detail) == ("tool", "shell") else label
            state = _CORRECTED_LABELS.get((document["name"], state), state)
            if is_sure and state in TRUE_STATES:
                yield TruthInterval(max(start, document["created"][session]), end, session, state)


def main() -> int:
    for path in sorted(Path(sys.argv[1]).glob("*.json.zst")):
        raw = subprocess.run(["zstd", "-dcq", str(path)], check=True, capture_output=True).stdout
        recording = convert(json.loads(raw))
        if recording.truth:
            recording.save()
            print(f"{recording.path.name}: {recording.path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
