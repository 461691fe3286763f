"""`turnlog quest profile`: show what the sessions have earned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.api.quest import QuestRebuild
    from turnlog.quest.profile import QuestProfile

_BAR_CELLS = 20


@click.command()
@click.option("--rebuild", is_flag=True, help="First count all sessions of this machine again, each event once.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def profile(rebuild: bool, as_json: bool) -> None:
    """Show what the sessions have earned: level, items, chests, and everything that was counted.

    Events count while you watch the quest. With --rebuild, all sessions that are on this machine are counted from
    their first events; what you have chosen and what you wear stays, and so does what you earned in sessions that are
    gone. You can interrupt it and run it again.

    \b
    Examples:
      turnlog quest profile
      turnlog quest profile --rebuild
      turnlog quest profile --json | jq .level
    """
    from turnlog.api.documents import to_document
    from turnlog.api.quest import read_quest_profile, rebuild_quest_profile
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.progress import show_progress

    if rebuild:
        progress = show_progress("counting {done:,} of {total:,} bytes … (Ctrl-C stops; run it again to go on)")
        done = rebuild_quest_profile(notify=print_remark, progress=progress)
        print_remark(_describe_rebuild(done))
        found = done.profile
    else:
        found = read_quest_profile()
    if as_json:
        print_json(to_document(found))
    else:
        print_lines(render_profile(found))


def _describe_rebuild(done: QuestRebuild) -> str:
    from turnlog.render.figures import format_count

    change = done.profile.xp - done.xp_before
    words = f"{abs(change):,} xp {'more' if change > 0 else 'less'} than before" if change else "nothing was missing"
    return f"Counted {format_count(done.events, 'event')} of {format_count(done.sessions, 'session')}: {words}."


def render_profile(found: QuestProfile) -> Iterator[str]:
    """Render a profile as lines of text."""
    from turnlog.cli.terminal import to_visible_line
    from turnlog.quest.cosmetics import COSMETIC_BY_ID, COSMETICS, SLOTS

    span = found.next - found.level_xp
    filled = _BAR_CELLS * (found.xp - found.level_xp) // span
    yield f"Level {found.level}  {'▰' * filled}{'▱' * (_BAR_CELLS - filled)}  {found.xp:,} of {found.next:,} xp"
    if found.problem:
        yield to_visible_line(found.problem)
    for slot in SLOTS:
        items = [item.name for item in COSMETICS if item.slot == slot and item.id in found.unlocked]
        total = sum(item.slot == slot for item in COSMETICS)
        worn = found.worn.get(slot)
        wears = f"wears {COSMETIC_BY_ID[worn].name}" if worn else "wears none"
        yield f"{slot.capitalize():<6} {len(items)} of {total}, {wears}" + (f": {', '.join(items)}" if items else "")
    if found.chests:
        count = len(found.chests)
        yield f"{count} chest{'s wait' if count > 1 else ' waits'} to be opened: run `turnlog quest`"
    yield ""
    yield from _render_counts(found)


def _render_counts(found: QuestProfile) -> Iterator[str]:
    from turnlog.render.figures import format_thousands

    stats = found.stats
    thoughts = [stats.thoughts, stats.thoughts_hard, stats.thoughts_harder, stats.thoughts_ultra]
    rows = (
        ("sessions", f"{stats.sessions:,}"),
        ("calls", f"{stats.calls:,} ({stats.reads:,} reads, {stats.writes:,} edits)"),
        ("commands", f"{stats.commands:,} ({stats.commands_ok:,} ok, up to {stats.best_streak:,} in a row)"),
        ("thoughts", "{:,} ({:,} hard, {:,} harder, {:,} ultra)".format(sum(thoughts), *thoughts[1:])),
        ("tasks", f"{stats.todos:,} completed"),
        ("agents", f"{stats.agents:,} completed"),
        ("tokens", f"{format_thousands(stats.tokens)} sent to models"),
        ("flow", f"{stats.flow_peaks:,} peaks"),
        ("bonus", f"{stats.bonus_chests:,} bonus chests"),
        ("since", (stats.first_seen or "no session yet")[:10]),
    )
    for name, words in rows:
        yield f"{name:<10}{words}"
