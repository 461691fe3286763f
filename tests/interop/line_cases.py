"""Hand-made files whose bytes and lines are odd."""

from __future__ import annotations

import json

from tests.interop.case_rows import base, between, build_calls, call, dump, raw, result

LINES = [dump(row) for row in base()]
U2 = LINES[2]
NUL = "\0" * 8


def file(*lines: str) -> bytes:
    """Lines as a file."""
    return "".join(line + "\n" for line in lines).encode()


def swap_line(at: int, line: str) -> bytes:
    """The session with one line replaced."""
    return file(*LINES[:at], line, *LINES[at + 1 :])


def insert_lines(*lines: str) -> bytes:
    """The session with lines before u3."""
    return file(*LINES[:4], *lines, *LINES[4:])


def words(new: bytes) -> bytes:
    """The session with other bytes in the text of u2."""
    return raw(base()).replace(b"u2 text", new)


def also(field: str) -> bytes:
    """The session with one more raw field at the end of u2."""
    return swap_line(2, f"{U2[:-1]},{field}}}")


def insert_input_value(value: str) -> bytes:
    """A session with a raw JSON value in a call's input."""
    rows = build_calls(call(input={"x": "@"}), [result(), result("c2")])
    return raw(rows).replace(b'"@"', value.encode())


def line_cases() -> dict[str, bytes]:
    """Name and bytes of each file."""
    return build_glued_cases() | build_padded_cases() | build_encoding_cases() | strict_json() | spread() | numbers()


def build_glued_cases() -> dict[str, bytes]:
    """Several things on one line."""
    return {
        "glued-two-in-the-middle": file(*LINES[:2], U2 + LINES[3], *LINES[4:]),
        "glued-with-a-space": file(*LINES[:2], U2 + " " + LINES[3], *LINES[4:]),
        "glued-two-at-the-end": file(*LINES[:4], LINES[4] + LINES[5]),
        "glued-two-at-the-start": file(LINES[0] + LINES[1], *LINES[2:]),
        "glued-empty-object-first": swap_line(2, "{}" + U2),
        "glued-null-first": swap_line(5, "null" + LINES[5]),
        "torn-then-whole-on-one-line": swap_line(2, '{"type":"user","mess' + U2),
        "whole-then-garbage": swap_line(2, U2 + "garbage"),
        "whole-then-comma": swap_line(2, U2 + ","),
        "whole-then-comment": swap_line(2, U2 + " // c"),
        "row-in-an-array": swap_line(2, f"[{U2}]"),
        "values-that-are-no-objects": insert_lines("null", "1", '"x"', "[]", "{}", "// comment"),
    }


def build_padded_cases() -> dict[str, bytes]:
    """Bytes around objects that are no JSON."""
    return {
        "nul-before-a-row": swap_line(2, NUL + U2),
        "nul-only-line": insert_lines(NUL),
        "nul-after-a-row": swap_line(2, U2 + NUL),
        "nul-at-the-end": raw(base()) + NUL.encode(),
        "spaces-around-a-row": swap_line(2, f" \t {U2} \t "),
        "bom-first": b"\xef\xbb\xbf" + raw(base()),
        "bom-twice": b"\xef\xbb\xbf\xef\xbb\xbf" + raw(base()),
        "bom-in-the-middle": swap_line(2, "\ufeff" + U2),
        "vertical-tab-before-a-row": swap_line(2, "\x0b" + U2),
        "form-feed-before-a-row": swap_line(2, "\x0c" + U2),
        "nbsp-before-a-row": swap_line(2, "\xa0" + U2),
        "cr-as-line-end": "\r".join([*LINES, ""]).encode(),
        "cr-between-two-rows": file(*LINES[:2], U2 + "\r" + LINES[3], *LINES[4:]),
        "no-newline-at-the-end": raw(base())[:-1],
    }


def build_encoding_cases() -> dict[str, bytes]:
    """Texts in a strange encoding."""
    return {
        "utf-16": raw(base()).decode().encode("utf-16"),
        "invalid-byte": words(b"u2 \xff text"),
        "invalid-cut-sequence": words(b"u2 \xe2\x82 text"),
        "invalid-surrogate-bytes": words(b"u2 \xed\xa0\x80 text"),
        "invalid-overlong": words(b"u2 \xc0\x80 text"),
        "invalid-byte-before-a-row": raw(base()).replace(U2.encode(), b"\xff" + U2.encode()),
        "escaped-high-surrogate": words(rb"u2 \ud800 text"),
        "escaped-low-surrogate": words(rb"u2 \udc00 text"),
        "escaped-pair": words(rb"u2 \ud83d\ude00 text"),
        "escaped-nul": words(rb"u2 \u0000 text"),
        "line-separator-in-a-text": words("u2\u2028\u0085\x7f text".encode()),
        "raw-tab-in-a-text": words(b"u2\ttext"),
        "raw-nul-in-a-text": words(b"u2\0text"),
        "raw-newline-in-a-text": words(b"u2\ntext"),
        "wrong-escape": words(rb"u2 \x41 text"),
    }


def strict_json() -> dict[str, bytes]:
    """Almost JSON, and JSON with a key twice."""
    return {
        "json-nan": also('"n":NaN'),
        "json-infinity": also('"n":Infinity'),
        "json-leading-zero": also('"n":01'),
        "json-trailing-comma": swap_line(2, U2[:-1] + ",}"),
        "json-single-quotes": also("'n':1"),
        "twice-type": also('"type":"zzz"'),
        "twice-type-first-wrong": swap_line(2, '{"type":"zzz",' + U2[1:]),
        "twice-message": also('"message":{"role":"user","content":"second message"}'),
        "proto-key": also('"__proto__":{"isSidechain":true}'),
        "deep-in-an-extra-field": also(f'"n":{"[" * 100_000}{"]" * 100_000}'),
    }


def spread() -> dict[str, bytes]:
    """Rows that do not keep to one line."""
    pretty = json.dumps(base()[4], indent=1)
    return {
        "torn-after-a-comma": insert_lines('{"type":"user","a":1,'),
        "torn-after-a-colon": insert_lines('{"type":"user","a":'),
        "torn-in-a-string": insert_lines('{"type":"user","a":"x'),
        "torn-bracket": insert_lines("["),
        "pretty-row": swap_line(4, pretty),
        "pretty-row-then-another": file(*LINES[:4], pretty + LINES[5]),
        "pretty-rows-only": file(*(json.dumps(row, indent=1) for row in base())),
        "wrapped-in-an-array-over-lines": file(*LINES[:4], "[", LINES[4], "]", LINES[5]),
        "file-is-one-array": json.dumps(base()).encode(),
        "unknown-type-in-the-chain": raw(between("my-row")),
    }


def numbers() -> dict[str, bytes]:
    """Numbers and keys that a double or an object of the client changes."""
    return {
        "numbers-large": insert_input_value("[12345678901234567890,9007199254740993,123456789012345678901234567890]"),
        "numbers-whole-doubles": insert_input_value("[1.0,-0,-0.0,1E5,1e20,1e21,1e-7,0.1]"),
        "numbers-out-of-range": insert_input_value("[1e400,-1e400,1e-400]"),
        "surrogate-in-an-input": insert_input_value(r'["\ud800"]'),
        "keys-twice-in-an-input": insert_input_value('{"k":1,"k":2}'),
        "deep-input": insert_input_value("[" * 500 + "]" * 500),
    }
