"""How commands show a change to one of Claude Code's settings files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnlog.store.settings_file import SettingsPlan


def print_settings_plan(plan: SettingsPlan, effect: str, dry_run: bool) -> None:
    """Print what a change to a settings file did or would do."""
    from turnlog.cli.output import print_lines, print_remark
    from turnlog.cli.terminal import make_visible

    if plan.is_idle:
        print_remark(f"{plan.path}: nothing to do.")
        return
    if dry_run:
        print_lines(_render_difference(plan))
        print_remark("Nothing was written: this was a dry run.")
        return
    print_lines([f"{make_visible(str(plan.path))}: {effect}."])
    if plan.backup.exists():
        print_lines([f"The previous settings are in {make_visible(str(plan.backup))}."])


def _render_difference(plan: SettingsPlan) -> list[str]:
    import difflib

    from turnlog.cli.terminal import make_visible

    before, after = ((data or b"").decode(errors="replace").splitlines() for data in (plan.before, plan.after))
    return [
        make_visible(text) for text in difflib.unified_diff(before, after, str(plan.path), str(plan.path), lineterm="")
    ]
