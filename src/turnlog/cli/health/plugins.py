"""`turnlog plugins`: list the packages that extend turnlog, and check that their plugins work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnlog.plugin_lookup import InstalledPlugin


@click.command()
@click.option("--check", is_flag=True, help="Also test each plugin with hostile input, which takes a few seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def plugins(check: bool, as_json: bool) -> int:
    """List the plugins that other installed packages provide: tool cards, exporters and redaction rules.

    Each plugin is loaded to check that it works. Other commands skip a broken card or exporter, but a broken redaction
    rule stops every command that redacts. The exit status is 1 if a plugin doesn't work. docs/extending.md explains how
    to write a plugin.

    \b
    Examples:
      turnlog plugins
      turnlog plugins --check --json
    """
    from turnlog.cli.output import print_json, print_lines

    states = [_inspect_plugin(plugin, check) for plugin in _find_all_plugins()]
    if as_json:
        print_json({"plugins": [_to_document(state) for state in states], "checked": check})
    else:
        print_lines(_render_states(states))
    return 1 if any(state.problem for state in states) else 0


class PluginState(NamedTuple):
    """A plugin and the problem with it, if any."""

    plugin: InstalledPlugin
    problem: str | None


def _find_all_plugins() -> list[InstalledPlugin]:
    from turnlog.plugin_lookup import PLUGIN_KINDS, find_plugins

    return [plugin for group in PLUGIN_KINDS for plugin in find_plugins(group)]


def _inspect_plugin(plugin: InstalledPlugin, check: bool) -> PluginState:
    from turnlog.conformance import ConformanceFailure
    from turnlog.errors import BrokenPlugin

    try:
        _load_plugin(plugin, check)
    except BrokenPlugin as error:
        return PluginState(plugin, error.problem)
    except ConformanceFailure as error:
        return PluginState(plugin, f"fails its check: {error}")
    return PluginState(plugin, None)


def _load_plugin(plugin: InstalledPlugin, check: bool) -> None:
    """Load a plugin as the commands that use it do; raise an error if something is wrong."""
    from turnlog.conformance import check_card, check_exporter, check_redaction_rule
    from turnlog.export.formats import EXPORT_FORMATS
    from turnlog.export.plugin_exporters import load_exporter
    from turnlog.plugin_lookup import CARD_GROUP, EXPORTER_GROUP
    from turnlog.redact.plugin_rules import load_plugin_rule
    from turnlog.redact.rules import list_reserved_names
    from turnlog.render.tools import PART_BUILDERS
    from turnlog.render.tools.plugin_cards import load_card

    if plugin.group == CARD_GROUP:
        card = load_card(plugin, PART_BUILDERS).card
        if check:
            check_card(card)
    elif plugin.group == EXPORTER_GROUP:
        exporter = load_exporter(plugin, EXPORT_FORMATS).exporter
        if check:
            check_exporter(exporter)
    else:
        rule = load_plugin_rule(plugin, list_reserved_names()).rule
        if check:
            check_redaction_rule(rule)


def _to_document(state: PluginState) -> dict[str, Any]:
    from turnlog.plugin_lookup import PLUGIN_KINDS

    plugin = state.plugin
    return {"kind": PLUGIN_KINDS[plugin.group], **plugin._asdict(), "problem": state.problem}


def _render_states(states: list[PluginState]) -> Iterator[str]:
    from turnlog.cli.terminal import to_visible_line
    from turnlog.plugin_lookup import PLUGIN_KINDS

    if not states:
        yield "No installed package extends turnlog."
        return
    rows = [
        [PLUGIN_KINDS[plugin.group], plugin.name, f"{plugin.package} {plugin.version}", problem or "ready"]
        for plugin, problem in states
    ]
    table = [[*map(to_visible_line, row)] for row in [["kind", "name", "package", "state"], *rows]]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
