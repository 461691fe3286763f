"""`turnlog unpack`: sessions out of a package into their places."""

from __future__ import annotations

import click


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--project", "projects", multiple=True, metavar="PATH",
              help="The folder to resume the sessions in; OLD=NEW for one of several projects.")  # fmt: skip
@click.option("--config", "config_dir", metavar="DIR", help="The client's config folder; else the usual one.")
@click.option("--list", "listing", is_flag=True, help="Only list what the package says it holds.")
@click.option("-n", "--dry-run", is_flag=True, help="Check the package, and only say what would go where.")
@click.option("--new-ids", is_flag=True, help="Unpack as new sessions, beside those with the same ids.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def unpack(
    file: str,
    projects: tuple[str, ...],
    config_dir: str | None,
    listing: bool,
    dry_run: bool,
    new_ids: bool,
    as_json: bool,
) -> None:
    """Put the sessions of a package into their places, so that the client resumes them.

    Every checksum is compared before anything is written; then all of it appears, or nothing. The project's folder
    is the one that the package names, if it is here, else say --project: paths in it are translated. Nothing is
    overwritten: a session that is here already, as it is in the package, stays; if it differs, nothing is
    unpacked. `turnlog delete` takes an unpacked session away again.

    \b
    Examples:
      turnlog unpack shop.tar.zst --list
      turnlog unpack shop.tar.zst --project ~/work/webshop
      turnlog unpack both.tar.zst --project /srv/a=~/a --project /srv/b=~/b
    """
    from turnlog.cli.edit.package_commands import list_package, run_unpack
    from turnlog.errors import UsageError

    if listing and (projects or config_dir or dry_run or new_ids):
        raise UsageError("--list only reads what the package says; leave out what is for unpacking")
    if listing:
        list_package(file, as_json=as_json)
    else:
        run_unpack(file, projects, config_dir, new_ids=new_ids, dry_run=dry_run, as_json=as_json)
