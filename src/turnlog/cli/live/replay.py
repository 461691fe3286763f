"""`turnlog replay`: play back a session in the terminal, or record it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.api.replays import RecordResult, ReplayOptions


@click.command()
@click.argument("session")
@click.option("--speed", type=float, help="Set the speed, from 0.25 to 32 (default: 1; in a pipe, no pauses).")
@click.option("--from", "from_turn", type=click.IntRange(1), metavar="TURN", help="Start with this turn.")
@click.option("--until", "until_turn", type=click.IntRange(1), metavar="TURN", help="Stop after this turn.")
@click.option("--max-gap", metavar="TIME", default="3s", help="Shorten longer silences to this length (default: 3s).")
@click.option("--record", metavar="FILE", help="Write an asciinema recording (.cast) instead of playing.")
@click.option("--size", metavar="COLUMNSxROWS", help="Set the size of the recording (default: 100x30).")
@click.option(
    "--redact/--no-redact",
    default=None,
    help="Replace API keys, tokens and passwords with placeholders (default: only with --record).",
)
@click.option("--force", is_flag=True, help="With --record: replace an existing file.")
@click.option("--json", "as_json", is_flag=True, help="Print the events as JSON, one per line (docs/json.md).")
def replay(session: str, **values: Any) -> None:
    """Play back a session as the client showed it: prompts, streamed text, calls with results, and sub-agents.

    On a terminal, the keys are those of a video player: Space pauses, the left and right arrows go to the previous
    and the next turn, + and - change the speed, a dot shows the next event, g goes to a turn or a time, q quits and
    ? lists all keys. In a pipe, the replay is plain text and waits only if you set --speed. SESSION is a path, an id
    or the start of one, a title, or `last`. In the browser, `turnlog web` has a Replay button on every session.

    \b
    Examples:
      turnlog replay last
      turnlog replay bee7dbd3 --speed 8 --from 2 --until 2
      turnlog replay last --max-gap 500ms --record demo.cast
      turnlog replay last --json | jq -r 'select(.event == "call") | "\\(.at) \\(.title)"'
    """
    from turnlog.api.replays import ReplayOptions, check_replay_options
    from turnlog.cli.output import spell_flags
    from turnlog.live.replay.clock import parse_duration

    speed, record, size, as_json = (values.pop(name) for name in ("speed", "record", "size", "as_json"))
    _check_arguments(record, size, as_json=as_json, force=values["force"])
    options = ReplayOptions(
        1.0 if speed is None else speed, values["from_turn"], values["until_turn"], parse_duration(values["max_gap"])
    )
    with spell_flags("speed"):
        check_replay_options(options)
    if record is not None:
        _record(session, record, options, redact=values["redact"] is not False, size=size, force=values["force"])
    elif as_json:
        _print_events(session, options, redact=bool(values["redact"]))
    else:
        _play(session, options, redact=bool(values["redact"]), is_timed=speed is not None)


def _check_arguments(record: str | None, size: str | None, *, as_json: bool, force: bool) -> None:
    if record is None and (size or force):
        raise UsageError("--size and --force require --record FILE")
    if record is not None and as_json:
        raise UsageError("use either --record, which writes a file, or --json, which prints events")
    if record in ("", "-"):
        raise UsageError("--record requires a file name such as demo.cast")


def _record(session: str, output: str, options: ReplayOptions, *, redact: bool, size: str | None, force: bool) -> None:
    from turnlog.api.replays import record_session
    from turnlog.cli.output import print_lines, print_remark, spell_flags
    from turnlog.live.replay.cast import DEFAULT_COLUMNS, DEFAULT_ROWS

    columns, rows = _parse_size(size) if size else (DEFAULT_COLUMNS, DEFAULT_ROWS)
    with spell_flags("size"):
        result = record_session(
            session, output, options, redact=redact, columns=columns, rows=rows, force=force, notify=print_remark
        )
    print_lines(_describe_recording(result))
    if result.redacted is None:
        print_remark("Redaction is off: the recording includes any API keys, tokens and passwords in the session.")


def _parse_size(text: str) -> tuple[int, int]:
    columns, _, rows = text.lower().partition("x")
    if not (columns.isascii() and columns.isdecimal() and rows.isascii() and rows.isdecimal()):
        raise UsageError(f"--size {text}: use a form such as 100x30")
    return int(columns[:9]), int(rows[:9])


def _describe_recording(result: RecordResult) -> list[str]:
    from turnlog.cli.terminal import make_visible
    from turnlog.live.replay.performance import format_clock
    from turnlog.render.figures import format_count, format_size

    lines = [f"{make_visible(str(result.output))}: {format_clock(result.seconds)} long, {format_size(result.bytes)}"]
    if result.redacted is not None:
        found = format_count(result.redacted, "secret")
        lines.append(f"{found} replaced" if result.redacted else "No API keys, tokens or passwords were found.")
    return lines


def _print_events(session: str, options: ReplayOptions, *, redact: bool) -> None:
    import sys

    from turnlog.api.replays import replay_session
    from turnlog.cli.output import encode_json, print_remark, write_raw
    from turnlog.render.json_bytes import to_plain_value

    rows = replay_session(session, options, redact=redact, notify=print_remark)
    fields = ("at", "elapsed", "turn")
    write_raw(
        encode_json({**{name: getattr(row, name) for name in fields}, **to_plain_value(row.event)}) + b"\n"
        for row in rows
    )
    if sys.stdout is not None:
        sys.stdout.flush()


def _play(session: str, options: ReplayOptions, *, redact: bool, is_timed: bool) -> None:
    from turnlog.api.config import load_config
    from turnlog.api.replays import open_replay
    from turnlog.cli.live.key_terminal import can_read_keys
    from turnlog.cli.live.replay_player import play_in_terminal, print_replay
    from turnlog.cli.output import print_remark
    from turnlog.cli.terminal import detect_screen

    config = load_config()
    screen = detect_screen(config.color)
    with open_replay(session, options, redact=redact, config=config, notify=print_remark) as opened:
        if screen.width is not None and can_read_keys():
            play_in_terminal(opened, screen, options.speed)
        else:
            print_replay(opened, screen, options.speed if is_timed else None)
