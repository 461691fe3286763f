"""Generate whole collections, with many sessions or one large one, and record the truth about them."""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from .eras import ERAS, LAST_DAY, find_era
from .project import Project
from .session import write_turns
from .text import Bank
from .truth import Truth
from .writer import Writer


def generate_collection(out: Path, size: int, seed: int = 1, *, is_clean: bool = False) -> Truth:
    """Write at least `size` bytes of sessions from all eras; unless `is_clean`, some of them end in a torn line."""
    bank, truth = Bank(seed), Truth()
    count = max(3, min(60, size // 30_000_000))
    projects = [Project(random.Random(f"{seed}:p{number}"), bank, number) for number in range(count)]
    total = files = number = 0
    previous: Writer | None = None
    while total < size:
        number += 1
        r = random.Random(f"{seed}:s{number}")
        session = _start_session(r, bank, projects, truth)
        if previous and session.era_name == "1.0" and r.random() < 0.2:
            _copy_previous(session, previous)
        write_turns(session, max(1, int(min(120, r.lognormvariate(1.5, 1.2)))))
        is_torn = not is_clean and r.random() < 0.015
        truth.facts["torn_files"] += is_torn
        total += _write_files(out, session, is_torn=is_torn)
        files += 1 + len(session.extra)
        truth.facts["sessions"] += 1
        if session.era_name == "1.0" and session.size < 3_000_000:
            previous = session
    return _write_truth(out, truth, total, files)


def generate_session(out: Path, size: int, seed: int = 1) -> Truth:
    """Write one session of at least `size` bytes from an early 2.1 client or, if the seed is even, a newer one."""
    bank, truth = Bank(seed), Truth()
    r = random.Random(f"{seed}:single")
    project = Project(r, bank, 0)
    era = ERAS[2] if seed % 2 else ERAS[3]
    session = Writer(r, bank, project, truth, era, datetime(2026, 3, 1, 9, tzinfo=UTC))
    write_turns(session, 0, min_bytes=size)
    return _write_truth(out, truth, _write_files(out, session), 1 + len(session.extra))


def generate_short_sessions(out: Path, count: int, seed: int = 1) -> Truth:
    """Write `count` short sessions from all eras."""
    bank, truth = Bank(seed), Truth()
    projects = [Project(random.Random(f"{seed}:p{number}"), bank, number) for number in range(60)]
    total = files = 0
    for number in range(count):
        r = random.Random(f"{seed}:short{number}")
        session = _start_session(r, bank, projects, truth)
        write_turns(session, r.randint(1, 3), steps=r.randint(0, 4))
        total += _write_files(out, session)
        files += 1 + len(session.extra)
    truth.facts["sessions"] = count
    return _write_truth(out, truth, total, files)


def generate_tiny_sessions(out: Path, count: int, seed: int = 1) -> Truth:
    """Write `count` sessions of a few KB in `count / 100` projects, three in five with the file of a sub-agent.

    The files' times are those of their last lines.
    """
    bank, truth = Bank(seed), Truth()
    projects = [Project(random.Random(f"{seed}:t{number}"), bank, number) for number in range(max(1, count // 100))]
    total = files = 0
    for number in range(count):
        r = random.Random(f"{seed}:tiny{number}")
        session = _start_session(r, bank, projects, truth)
        write_turns(session, 1, steps=0)
        if number % 5 < 3:
            _add_sub_agent(session)
        total += _write_files(out, session)
        files += 1 + len(session.extra)
        _set_times(out, session)
    truth.facts["sessions"] = count
    return _write_truth(out, truth, total, files)


def _add_sub_agent(session: Writer) -> None:
    agent_id = f"a{session.r.getrandbits(64):016x}"
    agent = Writer(
        session.r,
        session.bank,
        session.project,
        session.truth,
        session.era,
        session.now,
        session.session_id,
        agent_id,
        session.version,
    )
    write_turns(agent, 1, steps=0)
    data = b"\n".join(agent.lines) + b"\n"
    session.extra[f"{session.session_id}/subagents/agent-{agent_id}.jsonl"] = data


def _set_times(out: Path, session: Writer) -> None:
    folder, end = out / "projects" / session.project.slug, session.now.timestamp()
    for name in (f"{session.session_id}.jsonl", *session.extra):
        os.utime(folder / name, (end, end))


def append_lines(out: Path, files: int, lines: int, seed: int = 2) -> int:
    """Append whole lines to some sessions, as running clients do, and return the number of bytes added."""
    r = random.Random(f"append:{seed}")
    bank, truth = Bank(seed), Truth()
    project = Project(r, bank, 999)
    paths = sorted((out / "projects").glob("*/*.jsonl"))
    added = 0
    for path in sorted(r.sample(paths, min(files, len(paths)))):
        session = Writer(r, bank, project, truth, ERAS[3], LAST_DAY, path.stem)
        while len(session.lines) < lines:
            write_turns(session, 1)
        data = b"\n".join(session.lines[:lines]) + b"\n"
        with path.open("ab") as file:
            file.write(data)
        added += len(data)
    return added


def _start_session(r: random.Random, bank: Bank, projects: list[Project], truth: Truth) -> Writer:
    project = projects[int(len(projects) * r.random() ** 1.8)]
    span = (LAST_DAY - ERAS[0].start).days
    start = ERAS[0].start + timedelta(days=span * r.random() ** 0.6, hours=r.uniform(0, 24))
    return Writer(r, bank, project, truth, find_era(start), start)


def _copy_previous(session: Writer, previous: Writer) -> None:
    """Start a session with a copy of another, as old clients did when they resumed."""
    session.project = previous.project
    for raw in previous.lines:
        line = msgspec.json.decode(raw)
        if "sessionId" in line:
            line["sessionId"] = session.session_id
        session.write_line(line)
    session.parent = previous.parent
    session.truth.facts["resumed_copies"] += 1


def _write_files(out: Path, session: Writer, *, is_torn: bool = False) -> int:
    folder = out / "projects" / session.project.slug
    data = b"\n".join(session.lines) + b"\n"
    if is_torn:
        data += session.lines[-1][: len(session.lines[-1]) // 2]
    total = 0
    for name, content in {f"{session.session_id}.jsonl": data, **session.extra}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        total += len(content)
    return total


def _write_truth(out: Path, truth: Truth, total: int, files: int) -> Truth:
    truth.facts.update(bytes=total, files=files)
    (out / "truth.json").write_bytes(truth.to_json())
    return truth
