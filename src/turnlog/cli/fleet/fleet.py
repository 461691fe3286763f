"""`turnlog fleet`: build, query and maintain a lake with the sessions of many people."""

from __future__ import annotations

import click

from turnlog.errors import UsageError

_JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
_SNAPSHOT_OPTION = click.option(
    "--snapshot", type=click.IntRange(1), metavar="N", help="Read an older snapshot of the lake (default: the newest)."
)
_KEY_OPTION = click.option(
    "--key",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="File with the secret key of the pseudonyms (default: $TURNLOG_FLEET_KEY, or fleet.key in turnlog's data"
    " folder).",
)
_PEOPLE_OPTION = click.option(
    "--people", metavar="FILE", type=click.Path(dir_okay=False), help="people.toml: names, other names and teams."
)


@click.group()
def fleet() -> None:
    """Collect the sessions of many people in one lake of Parquet tables.

    A lake is a folder or a place in an object store (s3://…, gs://…, az://…). It contains pseudonyms instead of names,
    and secrets are redacted. docs/fleet.md describes the tables. This requires `pip install 'turnlog[fleet]'`.

    \b
    Examples:
      turnlog fleet build ~/.claude my-lake
      turnlog fleet report my-lake
      turnlog fleet sql my-lake "SELECT model, sum(output_tokens) FROM usage GROUP BY 1"
    """


@fleet.command()
@click.argument("source")
@click.argument("lake")
@click.option(
    "--engine", type=click.Choice(["local", "dask"]), default="local", show_default=True, help="Where the work is done."
)
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Processes to use (default: one for each core).")
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler, such as tcp://host:8786 (default: start one).")
@click.option(
    "--layout", metavar="TEMPLATE", help="What the folders below SOURCE mean, such as {team}/{person} or {person}."
)
@_PEOPLE_OPTION
@click.option("--person", metavar="NAME", help="Whose sessions all of these are, instead of --layout.")
@click.option("--team", metavar="NAME", help="Team of people who belong to no other team.")
@_KEY_OPTION
@click.option(
    "--redact/--no-redact",
    default=True,
    show_default=True,
    help="Replace secrets, email addresses and names in home folders with placeholders.",
)
@click.option("--text/--no-text", default=True, show_default=True, help="Include prompts, answers, calls and results.")
@click.option("--again", is_flag=True, help="Read all files again, also those that didn't change.")
@_JSON_OPTION
def build(source: str, lake: str, as_json: bool, **options: object) -> int:
    """Bring LAKE up to date with all session files below SOURCE.

    SOURCE is a folder or a URL that contains one or more Claude config folders (…/projects/…). Only new and changed
    files are read. Files that were deleted from SOURCE are marked, and their rows are kept. If a file can't be read,
    all others still are, and the exit status is 1.

    \b
    Examples:
      turnlog fleet build ~/.claude my-lake --person me
      turnlog fleet build /srv/homes s3://company/lake --layout "{person}" --people people.toml
      turnlog fleet build s3://company/raw s3://company/lake --engine dask --scheduler tcp://10.0.0.5:8786
    """
    from turnlog.api.documents import to_document
    from turnlog.cli.fleet.lake_lines import describe_build
    from turnlog.cli.output import print_json, print_lines, print_remark, spell_flags
    from turnlog.cli.progress import show_progress
    from turnlog.fleet.lakes import build_lake

    progress = None if as_json else show_progress("reading: {done:,} of {total:,} bytes …")
    with spell_flags("layout", "workers", "scheduler", "person"):
        done = build_lake(source, lake, progress=progress, **options)  # type: ignore[arg-type]
    if as_json:
        print_json(to_document(done))
    else:
        print_lines(describe_build(done))
    for item in done.failed[:20]:
        print_remark(f"not read: {item.path}: {item.reason}")
    return 1 if done.failed else 0


@fleet.command()
@click.argument("lake")
@click.option("--since", metavar="DAY", help="First day to include, in UTC, such as 2026-11-03, yesterday or 30d.")
@click.option("--until", metavar="DAY", help="Last day to include.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="Rows in each table.")
@_SNAPSHOT_OPTION
@_JSON_OPTION
def report(lake: str, since: str | None, until: str | None, limit: int, snapshot: int | None, as_json: bool) -> None:
    """Show usage by team, person, project, model and month, tools, versions and adoption.

    The figures are those of `turnlog usage` for the same files: a message that several files contain, such as a
    session and its forks, counts once in the whole lake. People appear under their pseudonyms.

    \b
    Examples:
      turnlog fleet report my-lake --since 30d
      turnlog fleet report s3://company/lake --json | jq '.teams[] | {name, cost_usd}'
    """
    from turnlog.api.documents import to_document
    from turnlog.api.lakes import report_lake
    from turnlog.cli.fleet.lake_lines import render_lake_report
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen

    found = report_lake(lake, since=since, until=until, snapshot=snapshot, limit=limit)
    if as_json:
        print_json(to_document(found))
    else:
        print_lines(render_lake_report(found, detect_screen()))


@fleet.command()
@click.argument("lake")
@click.argument("query")
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True, metavar="N", help="Rows to print.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@_SNAPSHOT_OPTION
@_JSON_OPTION
def sql(lake: str, query: str, limit: int, as_csv: bool, snapshot: int | None, as_json: bool) -> None:
    """Run a SELECT statement of DuckDB's SQL on the tables of LAKE.

    The tables are sessions, turns, messages, calls, usage, entries and files (docs/fleet.md). The query can only read,
    and only the lake.

    \b
    Examples:
      turnlog fleet sql my-lake "SELECT tool, count(*) FROM calls GROUP BY 1 ORDER BY 2 DESC"
      turnlog fleet sql my-lake "SELECT * FROM sessions LIMIT 5" --json
    """
    from turnlog.api.documents import to_document
    from turnlog.api.lakes import query_lake
    from turnlog.cli.fleet.lake_lines import render_query_result, to_csv_lines
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.terminal import detect_screen

    if as_csv and as_json:
        raise UsageError("use only one of --csv and --json")
    found = query_lake(lake, query, snapshot=snapshot, limit=limit)
    if as_json:
        print_json(to_document(found))
    elif as_csv:
        print_lines(to_csv_lines(found))
    else:
        print_lines(render_query_result(found, detect_screen()))
    if found.is_cut and not as_json:
        print_remark(f"Only the first {limit:,} rows are printed; --limit N prints more.")


@fleet.command()
@click.argument("lake")
@click.argument("person")
@click.option("--yes", is_flag=True, help="Confirm: this can't be undone.")
@_PEOPLE_OPTION
@_KEY_OPTION
@_JSON_OPTION
def forget(lake: str, person: str, yes: bool, people: str | None, key: str | None, as_json: bool) -> None:
    """Erase all rows of PERSON from LAKE, its history and its old snapshots.

    PERSON is a name, for which the key of the lake is required, or a pseudonym such as p-0123456789abcdef. Later builds
    skip the person's files. Versions that an object store keeps by itself must be deleted there.

    \b
    Examples:
      turnlog fleet forget my-lake alice --yes
    """
    from turnlog.api.documents import to_document
    from turnlog.cli.fleet.lake_lines import describe_forgotten
    from turnlog.cli.output import print_json, print_lines
    from turnlog.fleet.lakes import forget_person

    if not yes:
        raise UsageError("this erases a person from the lake for good; confirm it with --yes")
    done = forget_person(lake, person, people=people, key=key)
    if as_json:
        print_json(to_document(done))
    else:
        print_lines(describe_forgotten(done))
