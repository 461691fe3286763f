"""The webshop's rounding bug (2.1.325): the session to look at first, and its fork."""

from __future__ import annotations

from demo import shapes
from demo.home import Home
from demo.project import Call, Project, build_failed_call, build_text, build_thinking
from demo.recorder import Recorder

CART = '''"""The shopping cart: lines, totals and tax."""

from dataclasses import dataclass, field


@dataclass
class Line:
    sku: str
    price: float
    quantity: int = 1


@dataclass
class Cart:
    lines: list[Line] = field(default_factory=list)
    tax_rate: float = 0.19

    def add(self, sku: str, price: float, quantity: int = 1) -> None:
        self.lines.append(Line(sku, price, quantity))

    def subtotal(self) -> float:
        total = 0.0
        for line in self.lines:
            total += line.price * line.quantity
        return total

    def tax(self) -> float:
        return round(self.subtotal() * self.tax_rate, 2)

    def total(self) -> float:
        return round(self.subtotal() + self.tax(), 2)
'''
CHECKOUT = '''"""Turn a cart into an order."""

from shop.cart import Cart


def order(cart: Cart, customer: str) -> dict:
    return {
        "customer": customer,
        "net": cart.subtotal(),
        "tax": cart.tax(),
        "gross": cart.total(),
    }
'''
TESTS = """from shop.cart import Cart


def test_total_of_one_line():
    cart = Cart()
    cart.add("mug", 10.00)
    assert cart.total() == 11.90


def test_total_of_many_small_lines():
    cart = Cart()
    for _ in range(3):
        cart.add("sticker", 0.10)
    assert cart.subtotal() == 0.30
    assert cart.total() == 0.36
"""
COUPONS = 'CODES = {"SPRING": 0.10}\n'
README = "# webshop\n\nA small shop for mugs and stickers.\n\n    python -m pytest\n    python -m shop\n"
FAILED = (
    "\x1b[1m============================= test session starts =============================\x1b[0m\n"
    "collected 2 items\n\n"
    "tests/test_cart.py \x1b[32m.\x1b[0m\x1b[31mF\x1b[0m\x1b[31m                                    "
    "[100%]\x1b[0m\n\n"
    "=================================== FAILURES ===================================\n"
    "\x1b[31m\x1b[1m________________________ test_total_of_many_small_lines "
    "________________________\x1b[0m\n\n"
    "\x1b[1m\x1b[31mE       assert 0.30000000000000004 == 0.3\x1b[0m\n"
    "\x1b[1m\x1b[31mE        +  where 0.30000000000000004 = subtotal()\x1b[0m\n\n"
    "\x1b[1m\x1b[31mtests/test_cart.py\x1b[0m:14: AssertionError\n"
    "\x1b[31m========================= \x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m1 passed\x1b[0m\x1b[31m "
    "in 0.04s\x1b[0m"
    "\x1b[31m =========================\x1b[0m"
)
PASSED = (
    "\x1b[1m============================= test session starts =============================\x1b[0m\n"
    "collected 4 items\n\n"
    "tests/test_cart.py \x1b[32m.\x1b[0m\x1b[32m.\x1b[0m\x1b[32m.\x1b[0m\x1b[32m.\x1b[0m\x1b[32m"
    "                                  [100%]\x1b[0m\n\n"
    "\x1b[32m============================== \x1b[32m\x1b[1m4 passed\x1b[0m\x1b[32m in 0.03s\x1b[0m"
    "\x1b[32m ==============================\x1b[0m"
)


def create_shop() -> Project:
    """Create the webshop as it is before the bug is fixed."""
    return Project(
        "/home/dana/webshop",
        files={
            "shop/cart.py": CART,
            "shop/checkout.py": CHECKOUT,
            "shop/legacy/coupons.py": COUPONS,
            "tests/test_cart.py": TESTS,
            "README.md": README,
        },
    )


def create_task(number: int, subject: str, doing: str) -> Call:
    arguments = {"subject": subject, "description": subject + ".", "activeForm": doing}
    result = {"task": {"id": str(number), "subject": subject, "description": subject + "."}}
    return Call("TaskCreate", arguments, f"Task #{number} created successfully: {subject}", result, None, 0.02)


def set_task_status(number: int, before: str, after: str) -> Call:
    result = {
        "success": True,
        "taskId": str(number),
        "updatedFields": ["status"],
        "statusChange": {"from": before, "to": after},
    }
    return Call(
        "TaskUpdate",
        {"taskId": str(number), "status": after},
        f"Updated task #{number} status",
        result,
        None,
        0.02,
    )


def record_cart_session(home: Home) -> tuple[Project, Recorder]:
    """Record a session that finds the bug, fixes it with Decimal, writes tests and commits."""
    p = create_shop()
    rec = Recorder(home, "cart-rounding", p, "2.1.325", "2026-11-09T08:41:12", "claude-opus-5-5", requests=True)
    shapes.begin_session(rec)
    _record_search(rec, p)
    _record_fix(rec, p)
    _record_tests(rec, p)
    names = {
        "1": ("Use Decimal in the cart", "completed"),
        "2": ("Cover rounding with tests", "completed"),
        "3": ("Tell checkout about cents", "pending"),
    }
    for number, (subject, status) in names.items():
        home.put_json(
            f"tasks/{rec.sid}/{number}.json",
            {
                "id": number,
                "subject": subject,
                "description": subject + ".",
                "activeForm": subject,
                "status": status,
                "blocks": [],
                "blockedBy": [],
            },
            indent=2,
        )
    home.put_file(f"tasks/{rec.sid}/.lock", "")
    return p, rec


def _record_search(rec: Recorder, p: Project) -> None:
    rec.add_prompt(
        "Some customers are charged a cent too much. Order 4711 had three stickers at 0.10 and the invoice "
        "says 0.30000000000000004 net. Can you find out why and fix it?"
    )
    shapes.add_opening(rec, "(clean)", "8c1f2ab Add checkout\n41d0e77 Cart with tax\n")
    rec.add_answer(
        build_thinking(
            "A net amount of 0.30000000000000004 is the classic sign of adding binary floats. I should "
            "look at "
            "how the cart sums prices, and where the sum is used, before I change anything."
        ),
        build_text("That number looks like binary floating point. I'll look at the cart, its callers and the tests."),
        p.search_files(r"subtotal|total\("),
        p.read_file("shop/cart.py"),
        p.read_file("tests/test_cart.py"),
    )
    rec.add_answer(
        build_text("The tests should already catch it. Let me run them."),
        p.run_command("python -m pytest -q --color=yes", FAILED, "Run the test suite", code=1, seconds=1.9),
    )
    rec.add_answer(
        build_thinking(
            "Confirmed. Options: round in subtotal (hides the error, still wrong for halves), integer "
            "cents, or "
            "Decimal. Prices come in as floats from the catalogue, so Decimal(str(price)) keeps the API "
            "and is "
            "exact. Tax needs ROUND_HALF_UP because invoices are rounded commercially, while round() rounds "
            "half to even."
        ),
        build_text(
            "Found it: `Cart.subtotal()` adds **binary floats**, so three times `0.10` is "
            "`0.30000000000000004`. There is a second, quieter problem in `tax()`: `round()` rounds "
            "halves to "
            "even.\n\n"
            "| amount | `round(x, 2)` | commercial |\n|---|---|---|\n| 0.125 | 0.12 | **0.13** |\n"
            "| 0.135 | 0.14 | 0.14 |\n| 2.675 | 2.67 | **2.68** |\n\n"
            "I suggest to keep money in `Decimal` and to round once, at the end:\n\n"
            '```python\nCENT = Decimal("0.01")\n\ndef cents(amount: Decimal) -> Decimal:\n'
            "    return amount.quantize(CENT, ROUND_HALF_UP)\n```\n\nShall I do that? Callers can go on "
            "passing "
            "floats."
        ),
    )
    rec.end_turn()
    rec.title = ("ai-title", "Fix cent rounding in the cart")
    rec.add_state_rows()


def _record_fix(rec: Recorder, p: Project) -> None:
    rec.pass_time(161)
    rec.add_prompt("Yes please, with Decimal. And tests for the half-cent cases.")
    rec.add_answer(
        build_text("I'll track the steps."),
        create_task(1, "Use Decimal in the cart", "Using Decimal in the cart"),
        create_task(2, "Cover rounding with tests", "Covering rounding with tests"),
        create_task(3, "Tell checkout about cents", "Telling checkout about cents"),
    )
    rec.add_answer(set_task_status(1, "pending", "in_progress"))
    rec.add_answer(
        p.edit_file(
            "shop/cart.py",
            "from dataclasses import dataclass, field\n",
            "from dataclasses import dataclass, field\nfrom decimal import ROUND_HALF_UP, Decimal\n\n"
            'CENT = Decimal("0.01")\n\n\ndef cents(amount: Decimal) -> Decimal:\n'
            '    """Round to whole cents, halves up."""\n'
            "    return amount.quantize(CENT, ROUND_HALF_UP)\n",
        )
    )
    rec.add_answer(
        build_failed_call(
            "Edit",
            {
                "file_path": p.resolve_path("shop/cart.py"),
                "old_string": "    total = 0.0\n    for line",
                "new_string": "    total = Decimal(0)\n    for line",
            },
            "<tool_use_error>String to replace not found in file.\nString:     total = 0.0\n    for line"
            "</tool_use_error>",
        )
    )
    rec.add_answer(
        build_text("The indentation was off by one level. Again with the right text."),
        p.edit_file("shop/cart.py", "    price: float\n", "    price: Decimal\n"),
        p.edit_file(
            "shop/cart.py",
            "self.lines.append(Line(sku, price, quantity))",
            "self.lines.append(Line(sku, Decimal(str(price)), quantity))",
        ),
        p.edit_file(
            "shop/cart.py",
            "    def subtotal(self) -> float:\n        total = 0.0\n        for line in self.lines:\n"
            "            total += line.price * line.quantity\n        return total\n",
            "    def subtotal(self) -> Decimal:\n"
            "        return sum((line.price * line.quantity for line in self.lines), Decimal(0))\n",
        ),
    )
    rec.add_answer(
        p.edit_file(
            "shop/cart.py",
            "    def tax(self) -> float:\n        return round(self.subtotal() * self.tax_rate, 2)\n\n"
            "    def total(self) -> float:\n        return round(self.subtotal() + self.tax(), 2)\n",
            "    def tax(self) -> Decimal:\n        return cents(self.subtotal() * "
            "Decimal(str(self.tax_rate)))\n\n"
            "    def total(self) -> Decimal:\n        return cents(self.subtotal()) + self.tax()\n",
        )
    )


def _record_tests(rec: Recorder, p: Project) -> None:
    rec.add_answer(set_task_status(1, "in_progress", "completed"), set_task_status(2, "pending", "in_progress"))
    rec.add_answer(
        p.write_file(
            "tests/test_cart.py",
            """from decimal import Decimal

import pytest

from shop.cart import Cart, cents


def test_total_of_one_line():
    cart = Cart()
    cart.add("mug", 10.00)
    assert cart.total() == Decimal("11.90")


def test_many_small_lines_add_up_exactly():
    cart = Cart()
    for _ in range(3):
        cart.add("sticker", 0.10)
    assert cart.subtotal() == Decimal("0.30")


@pytest.mark.parametrize("amount, rounded", [("0.125", "0.13"), ("2.675", "2.68")])
def test_half_cents_are_rounded_up(amount, rounded):
    assert cents(Decimal(amount)) == Decimal(rounded)
""",
        )
    )
    rec.add_answer(p.run_command("python -m pytest -q --color=yes", PASSED, "Run the test suite", seconds=1.7))
    rec.add_attachment(
        "hook_success",
        "PostToolUse:Bash hook success: ruff: all checks passed",
        hookName="PostToolUse:Bash",
        toolUseID=rec.rows[-1]["message"]["content"][0]["tool_use_id"],
        hookEvent="PostToolUse",
        content="ruff: all checks passed",
        stdout="ruff: all checks passed\n",
        stderr="",
        exitCode=0,
        command="ruff check --quiet .",
        durationMs=61,
    )
    rec.add_answer(
        set_task_status(2, "in_progress", "completed"),
        p.run_command(
            "git add -A && git commit -qm 'Keep money in Decimal, round halves up' && git log --oneline -1",
            "e3b90c4 Keep money in Decimal, round halves up",
            "Commit the fix",
            gitOperation={"commit": {"sha": "e3b90c4", "kind": "committed"}},
        ),
    )
    rec.add_answer(
        build_text(
            "Done, committed as `e3b90c4`.\n\n"
            "- **`shop/cart.py`**: prices are kept as `Decimal`; `cents()` rounds once, halves up\n"
            "- **`tests/test_cart.py`**: exact sums and the half-cent cases, 4 tests pass\n\n"
            "> `checkout.order()` now puts `Decimal` values into the order. If it is written as JSON "
            "somewhere, "
            "it needs `str()` there; I left task 3 open for that."
        )
    )
    rec.end_turn()


def record_branch(home: Home, origin: Recorder) -> None:
    """Record a fork of the session that tries whole cents instead, and stops halfway."""
    origin.pass_time(340)
    rec = shapes.fork_session(origin, "cart-cents-branch", "try integer cents")
    home.put_json(f"{rec.find_folder()}/{rec.sid}/custom-title.json", {"customTitle": "try integer cents"})
    p = rec.project
    rec.pass_time(12)
    rec.add_prompt("On this branch let's see how it would look with integer cents instead of Decimal.")
    rec.add_answer(
        build_thinking("Integer cents means the catalogue prices must be converted at the border."),
        build_text("Let me see who creates lines."),
        p.search_files(r"\.add\("),
        p.read_file("shop/checkout.py"),
    )
    rec.add_answer(
        build_text("Two places create lines. I start with a rewrite of the cart."),
        Call(
            "Bash",
            {
                "command": "git switch -c integer-cents && rm -r shop/legacy",
                "description": "Make room for the rewrite",
            },
        ),
        write_results=False,
    )
    denied = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a "
        "file "
        "edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to "
        "tell you how to proceed."
    )
    call = rec.rows[-1]["message"]["content"][0]["id"]
    source = rec.rows[-1]["uuid"]
    rec.pass_time(9)
    rec.add_row(
        "user",
        {
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "content": denied, "is_error": True, "tool_use_id": call}],
            }
        },
        tail={
            "toolUseResult": "User rejected tool use",
            "toolDenialKind": "user-rejected",
            "sourceToolAssistantUUID": source,
            "permissionDecision": {"decision": "reject", "source": "user_reject", "reasonCode": "unknown"},
        },
    )
    rec.add_interrupt(during_tool=True)
    rec.pass_time(30)
    rec.add_prompt("Don't remove legacy/, marketing still imports it. Explain only, no changes.")
    rec.add_answer(
        build_text(
            "Understood, nothing is changed. In short:\n\n"
            '1. `Line.price` becomes `int` (cents); `Cart.add()` takes `"0.10"` and converts once.\n'
            "2. `tax()` is the only place that divides: `(net * 19 + 50) // 100`.\n"
            '3. Rendering needs `f"{cents // 100}.{cents % 100:02d}"`.\n\n'
            "Faster and exact, but every reader of an order has to know the unit. I would stay with "
            "`Decimal`."
        ),
        stop=None,
    )
    rec.end_turn()
    rec.save_session()
