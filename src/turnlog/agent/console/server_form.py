"""Asks a person for what an MCP server wants to know: the fields of a form, or whether they have opened a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from turnlog.agent.console.person_questions import Ask, add_side_bar, ask_consent, wrap_choice
from turnlog.render.terminal import TerminalScreen as Look
from turnlog.render.terminal import to_visible_line

Object = Mapping[str, Any]
DECLINED: Object = {"action": "decline"}
CANCELLED: Object = {"action": "cancel"}
_BAR_CELLS = 5
_MAX_TEXT_CHARS = 2_000
_MAX_FIELDS = 50
_MAX_OPTIONS = 50
_UNITS = {"imum": "", "Length": " characters", "Items": " choices"}
_YES, _NO = ("y", "yes", "true"), ("n", "no", "false")


class _InvalidAnswer(Exception):
    """An answer that does not fit its field."""


def ask_server_form(arguments: Object, ask: Ask, say: Callable[..., None], look: Look) -> Object:
    """Show who asks for what, and return the action of the person and the content of the form."""
    schema = arguments.get("requestedSchema")
    described = schema.get("properties") if isinstance(schema, Mapping) else None
    fields = {str(name): one for name, one in (described or {}).items() if isinstance(one, Mapping)}
    required = schema.get("required") if isinstance(schema, Mapping) else None
    needed = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
    say(look.paint(f"The MCP server {to_visible_line(str(arguments.get('server')))} asks:", "yellow"))
    say(*_render_text(str(arguments.get("message") or ""), look))
    if url := arguments.get("url"):
        say(*_render_text(str(url), look), "  Open this page yourself if you trust it.")
        return _ask_whether(ask, "have you opened it?", {"action": "accept"})
    if len(fields) > _MAX_FIELDS or needed - fields.keys():
        say("  This form can't be shown, so it is declined.")
        return DECLINED
    say(*(row for name, one in fields.items() for row in _render_field(name, one, look, is_needed=name in needed)))
    consent = _ask_whether(ask, "answer?", {"action": "accept"})
    if consent["action"] != "accept":
        return consent
    content: dict[str, Any] = {}
    for name, one in fields.items():
        while True:
            answer = ask(f"  {to_visible_line(name)}: ")
            if answer is None:
                return CANCELLED
            try:
                if (value := _read_value(answer.strip(), one, is_needed=name in needed)) is not None:
                    content[name] = value
                break
            except _InvalidAnswer as problem:
                say(*wrap_choice(f"  {problem}", look, 2))
    return {"action": "accept", "content": content}


def _ask_whether(ask: Ask, question: str, accepted: Object) -> Object:
    consent = ask_consent(ask, question, "y")
    if consent is None:
        return CANCELLED
    return accepted if consent[0] == "y" else DECLINED


def _render_text(text: str, look: Look) -> Iterator[str]:
    """Render text from the server with a bar, so that it can't be mistaken for the questions below it."""
    narrow = look._replace(width=None if look.width is None else max(look.width - _BAR_CELLS, _BAR_CELLS))
    for line in text[:_MAX_TEXT_CHARS].split("\n"):
        yield from add_side_bar(wrap_choice(to_visible_line(line), narrow, 0))


def _render_field(name: str, field: Object, look: Look, *, is_needed: bool) -> Iterator[str]:
    texts = (field.get("title"), field.get("description"), _describe_type(field))
    facts = [to_visible_line(str(text)[:_MAX_TEXT_CHARS]) for text in texts if text]
    if "default" in field:
        facts.append(f"Enter for {to_visible_line(str(field['default'])[:80])}")
    elif not is_needed:
        facts.append("Enter leaves it out")
    yield from wrap_choice(f"  {to_visible_line(name)} · {' · '.join(facts)}", look)
    for number, (_, title) in enumerate(_list_options(field), 1):
        yield from wrap_choice(f"     {number}  {to_visible_line(title)}", look, 8)


def _describe_type(field: Object) -> str:
    if _list_options(field):
        return "numbers" if field.get("type") == "array" else "a number from the list"
    return {"boolean": "y or n", "integer": "a whole number", "number": "a number"}.get(str(field.get("type")), "text")


def _list_options(field: Object) -> list[tuple[str, str]]:
    """Return the values that a field may have, each with its title."""
    items = field.get("items") if field.get("type") == "array" else field
    if not isinstance(items, Mapping):
        return []
    values = items.get("enum")
    if isinstance(values, list):
        names = items.get("enumNames")
        titles = names if isinstance(names, list) and len(names) == len(values) else values
        return [(str(one), str(title)) for one, title in zip(values, titles, strict=True)][:_MAX_OPTIONS]
    choices = items.get("oneOf") or items.get("anyOf")
    known = [one for one in choices if isinstance(one, Mapping)] if isinstance(choices, list) else []
    return [(str(one.get("const")), str(one.get("title") or one.get("const"))) for one in known][:_MAX_OPTIONS]


def _read_value(answer: str, field: Object, *, is_needed: bool) -> Any:
    """Return the value of an answer, or None if the field is left out; raise _InvalidAnswer if it does not fit."""
    if not answer:
        if "default" in field:
            return field["default"]
        if is_needed:
            raise _InvalidAnswer("This field is required; Esc cancels the form.")
        return None
    value = _parse_answer(answer, field)
    if isinstance(value, int | float):
        _check_size(field, "imum", value)
    else:
        _check_size(field, "Length" if isinstance(value, str) else "Items", len(value))
    return value


def _check_size(field: Object, key: str, size: Any) -> None:
    """Check a value against the limits of its kind; the server checks everything else."""
    low, high = (field.get(f"{end}{key}") for end in ("min", "max"))
    if isinstance(low, int | float) and size < low:
        raise _InvalidAnswer(f"This must be at least {low}{_UNITS[key]}.")
    if isinstance(high, int | float) and size > high:
        raise _InvalidAnswer(f"This must be at most {high}{_UNITS[key]}.")


def _parse_answer(answer: str, field: Object) -> Any:
    kind, options = field.get("type"), _list_options(field)
    if options:
        numbers = answer.replace(",", " ").split()
        if not all(number.isdecimal() and 1 <= int(number) <= len(options) for number in numbers):
            raise _InvalidAnswer(f"Give {'numbers' if kind == 'array' else 'a number'} from 1 to {len(options)}.")
        values = [options[int(number) - 1][0] for number in dict.fromkeys(numbers)]
        if kind == "array":
            return values
        if len(values) > 1:
            raise _InvalidAnswer("Give one number.")
        return values[0]
    if kind == "boolean":
        if answer.lower() not in (*_YES, *_NO):
            raise _InvalidAnswer("Answer y or n.")
        return answer.lower() in _YES
    if kind in ("integer", "number"):
        try:
            return int(answer) if kind == "integer" else float(answer)
        except ValueError:
            raise _InvalidAnswer(f"This is not {_describe_type(field)}.") from None
    return answer
