"""The profile counts every event once, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.quest.stories import KINDS, OTHER_SESSION, SESSION, tell
from turnlog.errors import NotFound, TurnlogError, UsageError
from turnlog.live.events.event import AnyEvent, TextAnswered
from turnlog.quest.chests import ChestCeremony, advance_ceremony, draw_offers, list_pool, move_selection, press_key
from turnlog.quest.cosmetics import COSMETIC_BY_ID, COSMETICS
from turnlog.quest.experience import compute_level
from turnlog.quest.ledger import ProfileKeeper
from turnlog.quest.profile import QuestProfile
from turnlog.quest.profile_store import PROFILE_FILE_NAME, DamagedProfile, ProfileFile
from turnlog.quest.wardrobe import claim_item, open_chest, skip_chest, wear_item

KIND_LISTS = st.lists(st.sampled_from(KINDS), min_size=1, max_size=30)


def count_all(folder: Path, *parts: list[AnyEvent]) -> QuestProfile:
    keeper = ProfileKeeper(folder)
    for part in parts:
        keeper.count_events(part)
    return keeper.read_profile()


def to_facts(profile: QuestProfile) -> tuple[object, ...]:
    return profile.xp, profile.level, profile.stats, profile.streak, [chest.id for chest in profile.chests]


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(KIND_LISTS, st.lists(st.integers(0, 30), max_size=6))
def test_events_count_once_however_they_are_split_and_repeated(kinds: list[str], cuts: list[int]) -> None:
    """A tab that closes, a restart, a second watcher that is behind: each brings some of the events again."""
    events = tell(kinds)
    with TemporaryDirectory() as once, TemporaryDirectory() as often:
        wanted = count_all(Path(once), events)
        places = sorted(cuts)
        parts = [events[max(cut - 5, 0) : cut + 8] for cut in places]
        ordered = [events[: places[0] + 8]] if places else []
        got = count_all(Path(often), *ordered, *parts, events, events)
        assert to_facts(got) == to_facts(wanted)


@settings(max_examples=20, deadline=None)
@given(KIND_LISTS, st.integers(0, 30))
def test_counting_grows_with_the_events_and_never_takes_back(kinds: list[str], cut: int) -> None:
    events = tell(kinds)
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        part = count_all(Path(one), events[:cut])
        whole = count_all(Path(one), events[cut:])
        assert part.xp <= whole.xp
        assert to_facts(whole) == to_facts(count_all(Path(other), events))


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(KIND_LISTS, KIND_LISTS, st.integers(0, 30))
def test_a_rebuild_gives_the_same_after_any_live_counting(first: list[str], second: list[str], cut: int) -> None:
    stories = {SESSION: tell(first), OTHER_SESSION: tell(second, OTHER_SESSION, pause=1.5)}
    with TemporaryDirectory() as fresh, TemporaryDirectory() as used:
        for folder in (fresh, used):
            keeper = ProfileKeeper(Path(folder))
            if folder == used:
                keeper.count_events(stories[OTHER_SESSION][:cut] + stories[SESSION][cut:])
            for _ in range(2):
                for uuid, events in stories.items():
                    keeper.recount_session(uuid, events)
        assert ProfileKeeper(Path(used)).read_profile().xp == ProfileKeeper(Path(fresh)).read_profile().xp
        late = ProfileKeeper(Path(used)).count_events(stories[SESSION])
        assert all(reward.level is None for reward in late)


@settings(max_examples=20, deadline=None)
@given(KIND_LISTS, KIND_LISTS)
def test_copied_messages_earn_nothing_again(kinds: list[str], further: list[str]) -> None:
    """A fork begins with the messages of its origin; only what is new in it counts."""
    fork = tell([*kinds, *further], OTHER_SESSION)
    with TemporaryDirectory() as folder, TemporaryDirectory() as alone:
        both = count_all(Path(folder), tell(kinds), fork)
        assert both.xp == count_all(Path(alone), tell([*kinds, *further])).xp
        assert both.stats.sessions == 2


def test_two_sessions_have_streaks_of_their_own(tmp_path: Path) -> None:
    keeper = ProfileKeeper(tmp_path)
    keeper.count_events([tell(["ok"])[1], tell(["ok"], OTHER_SESSION, pause=2)[1]])
    assert keeper.read_profile().xp == 15 + 15


def test_a_level_is_reported_once_with_a_chest_if_there_is_an_item_for_it(tmp_path: Path) -> None:
    events = tell(["ultra"] * 12)
    rewards = ProfileKeeper(tmp_path).count_events(events)
    assert [(reward.level, reward.chest) for reward in rewards if reward.level] == [(1, None), (2, "level-2")]
    assert ProfileKeeper(tmp_path).read_profile().level == 2


_WATCHER = """
import sys
from pathlib import Path
from tests.quest.stories import tell
from turnlog.quest.ledger import ProfileKeeper
keeper, events = ProfileKeeper(Path(sys.argv[1])), tell(sys.argv[2].split(","))
print("ready", flush=True)
sys.stdin.readline()
for start in range(0, len(events), 3):
    keeper.count_events(events[start : start + 3])
    print(start, flush=True)
"""


def start_watcher(folder: Path, kinds: list[str]) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", _WATCHER, str(folder), ",".join(kinds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )


def test_processes_that_watch_at_the_same_time_count_each_event_once(tmp_path: Path) -> None:
    kinds = ["read", "ok", "failed", "think", "todo", "write", "ok", "agent"] * 6
    watchers = [start_watcher(tmp_path / "shared", kinds) for _ in range(4)]
    for watcher in watchers:
        assert watcher.stdout is not None
        assert watcher.stdout.readline() == "ready\n"
    for watcher in watchers:
        assert watcher.communicate("go\n", timeout=300)
        assert watcher.returncode == 0
    wanted = count_all(tmp_path / "alone", tell(kinds))
    assert to_facts(ProfileKeeper(tmp_path / "shared").read_profile()) == to_facts(wanted)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_watcher_that_is_killed_in_the_middle_leaves_a_whole_profile(tmp_path: Path) -> None:
    kinds = ["read", "ok", "think", "todo", "write", "agent"] * 30
    killed = start_watcher(tmp_path / "shared", kinds)
    assert killed.stdin is not None
    assert killed.stdout is not None
    killed.stdin.write("go\n")
    killed.stdin.flush()
    while killed.stdout.readline() not in ("30\n", ""):
        pass
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)
    keeper = ProfileKeeper(tmp_path / "shared")
    assert keeper.read_profile().problem is None
    assert to_facts(count_all(tmp_path / "shared", tell(kinds))) == to_facts(count_all(tmp_path / "alone", tell(kinds)))


@pytest.mark.parametrize("damage", [b"", b"{}", b"SQLite format 3\0" + b"x" * 5000])
def test_a_damaged_profile_is_set_aside_and_reported_until_a_rebuild(tmp_path: Path, damage: bytes) -> None:
    keeper = ProfileKeeper(tmp_path)
    keeper.count_events(tell(["read"]))
    keeper.file.path.write_bytes(damage)
    assert "quest.sqlite3" in (keeper.read_profile().problem or "")
    assert keeper.file.path.read_bytes() == damage, "reading changes nothing"
    keeper.count_events(tell(["write"]))
    found = keeper.read_profile()
    assert found.xp == 10
    assert "set aside as quest.sqlite3.old" in (found.problem or "")
    assert "--rebuild" in (found.problem or "")
    assert (tmp_path / f"{PROFILE_FILE_NAME}.old").read_bytes() == damage
    keeper.clear_problem()
    assert keeper.read_profile().problem is None


def test_a_damaged_page_in_the_middle_is_found_and_set_aside(tmp_path: Path) -> None:
    keeper = ProfileKeeper(tmp_path)
    for number in range(30):
        keeper.count_events(tell(["read"] * 20, f"s{number}", pause=number + 1))
    data = bytearray(keeper.file.path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    keeper.file.path.write_bytes(data)
    assert keeper.read_profile().problem
    keeper.count_events(tell(["write"]))
    assert keeper.read_profile().xp == 10


def test_a_profile_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    keeper = ProfileKeeper(tmp_path)
    keeper.count_events(tell(["read"]))
    db = apsw.Connection(str(keeper.file.path))
    db.execute("PRAGMA user_version = 99")
    db.close()
    data = keeper.file.path.read_bytes()
    for act in (lambda: keeper.read_profile(), lambda: keeper.count_events(tell(["write"]))):
        with pytest.raises(TurnlogError, match="newer turnlog"):
            act()
    assert keeper.file.path.read_bytes() == data


def test_another_database_is_not_taken_for_a_profile(tmp_path: Path) -> None:
    db = apsw.Connection(str(tmp_path / PROFILE_FILE_NAME))
    db.execute("CREATE TABLE other (x); INSERT INTO other VALUES (1)")
    db.close()
    with pytest.raises(DamagedProfile), ProfileFile(tmp_path).read():
        pass


def test_reading_never_creates_anything(tmp_path: Path) -> None:
    assert ProfileKeeper(tmp_path / "none").read_profile().xp == 0
    assert not list(tmp_path.iterdir())


def test_events_that_count_for_nothing_write_nothing(tmp_path: Path) -> None:
    ProfileKeeper(tmp_path).count_events([TextAnswered(session=SESSION, text="hi")])
    assert not list(tmp_path.iterdir())


# -- chests and clothes


def rich(folder: Path, sessions: int = 12) -> QuestProfile:
    """A profile with some levels."""
    keeper = ProfileKeeper(folder)
    for number in range(sessions):
        keeper.count_events(tell(["ultra"] * 10, f"s{number}", pause=60 + number))
    return keeper.read_profile()


def test_a_chest_opens_to_offers_that_stay_and_is_empty_after_one_was_claimed(tmp_path: Path) -> None:
    found = rich(tmp_path)
    assert found.level == 7
    first = found.chests[0]
    assert (first.kind, first.state, first.offers) == ("level", "closed", ())
    opened = open_chest(tmp_path, first.id)
    offers = next(chest.offers for chest in opened.chests if chest.id == first.id)
    assert len(offers) == 3
    assert next(chest.offers for chest in open_chest(tmp_path, first.id).chests if chest.id == first.id) == offers
    claimed = claim_item(tmp_path, first.id, offers[1])
    assert offers[1] in claimed.unlocked
    assert first.id not in [chest.id for chest in claimed.chests]
    with pytest.raises(NotFound):
        claim_item(tmp_path, first.id, offers[0])
    slot = COSMETIC_BY_ID[offers[1]].slot
    assert wear_item(tmp_path, slot, offers[1]).worn[slot] == offers[1]


def test_what_one_chest_gave_disappears_from_the_offers_of_another(tmp_path: Path) -> None:
    """Six items are left for three chests with three offers each, so some are in two of them."""
    names = [chest.id for chest in rich(tmp_path).chests[:3]]
    offers = {chest.id: chest.offers for name in names for chest in open_chest(tmp_path, name).chests}
    one, two, item = next(
        (one, two, item) for one in names for two in names for item in offers[one] if one != two and item in offers[two]
    )
    claimed = claim_item(tmp_path, one, item)
    assert item not in next(chest.offers for chest in claimed.chests if chest.id == two)
    with pytest.raises(UsageError, match="choose one of"):
        claim_item(tmp_path, two, item)


def test_all_chests_together_never_offer_more_than_the_level_allows(tmp_path: Path) -> None:
    found = rich(tmp_path)
    while found.chests:
        chest = found.chests[0].id
        offers = next(one.offers for one in open_chest(tmp_path, chest).chests if one.id == chest)
        found = claim_item(tmp_path, chest, offers[0])
    assert set(found.unlocked) == {item.id for item in COSMETICS if item.level <= found.level}
    with pytest.raises(UsageError, match="not unlocked"):
        wear_item(tmp_path, "hat", "hat-mushroom")


def test_a_chest_that_was_put_off_waits(tmp_path: Path) -> None:
    chest = rich(tmp_path).chests[0].id
    assert next(one.skipped for one in skip_chest(tmp_path, chest).chests if one.id == chest)
    with pytest.raises(UsageError, match="not open"):
        claim_item(tmp_path, chest, "hat-party")
    assert next(one.offers for one in open_chest(tmp_path, chest).chests if one.id == chest)


def test_a_rebuild_keeps_what_was_chosen(tmp_path: Path) -> None:
    chest = rich(tmp_path).chests[0].id
    offers = next(one.offers for one in open_chest(tmp_path, chest).chests if one.id == chest)
    claim_item(tmp_path, chest, offers[0])
    keeper = ProfileKeeper(tmp_path)
    for number in range(12):
        keeper.recount_session(f"s{number}", tell(["ultra"] * 10, f"s{number}", pause=60 + number))
    found = keeper.read_profile()
    assert offers[0] in found.unlocked
    assert chest not in [one.id for one in found.chests]
    assert found.level == 7


@given(st.integers(0, 60), st.text(max_size=5))
def test_offers_are_distinct_items_of_the_level_that_are_not_owned(level: int, name: str) -> None:
    owned = {"hat-party", "aura-dust"}
    offers = draw_offers(f"level-{name}", level, owned)
    assert len(set(offers)) == len(offers) == min(3, len(list_pool(level, owned)))
    assert all(COSMETIC_BY_ID[item].level <= level and item not in owned for item in offers)
    assert len(draw_offers(f"bonus-{name}", level, owned)) <= 1


def test_the_ceremony_goes_through_all_states_of_the_original() -> None:
    chest, seen = ChestCeremony(("a", "b", "c")), ["closed"]
    for _ in range(400):
        chest = advance_ceremony(chest, 0.01)
        seen += [chest.state] if chest.state != seen[-1] else []
    assert seen == ["closed", "wobble", "opening", "revealing", "choosing"]
    chest = press_key(move_selection(move_selection(chest, 1), 1))
    assert (chest.state, chest.claimed) == ("claiming", "c")
    assert advance_ceremony(chest, 1.1).state == "done"


def test_a_key_skips_the_wobble_and_a_single_offer_is_claimed_by_itself() -> None:
    chest = press_key(ChestCeremony(("a",)))
    assert chest.state == "opening"
    chest = advance_ceremony(chest, 1.2)
    assert (chest.state, chest.claimed) == ("claiming", "a")
    assert advance_ceremony(ChestCeremony(()), 60).state == "done"


def test_levels_cost_a_hundred_times_their_square() -> None:
    assert [compute_level(xp) for xp in (0, 99, 100, 399, 400, 249_999, 250_000)] == [0, 0, 1, 1, 2, 49, 50]


_REBUILDER = """
import sys
from pathlib import Path
from tests.quest.stories import OTHER_SESSION, SESSION, tell
from turnlog.quest.ledger import ProfileKeeper
def read_slowly(events):
    for number, event in enumerate(events):
        if number == 20:
            print("half", flush=True)
            sys.stdin.readline()
        yield event
kinds = sys.argv[2].split(",")
ProfileKeeper(Path(sys.argv[1])).recount_sessions(
    [(OTHER_SESSION, tell(kinds, OTHER_SESSION, pause=2)), (SESSION, read_slowly(tell(kinds)))]
)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_rebuild_that_is_killed_in_the_middle_leaves_the_profile_as_it_was(tmp_path: Path) -> None:
    kinds = ["read", "ok", "think", "todo", "write", "agent"] * 6
    keeper, events = ProfileKeeper(tmp_path), tell(kinds)
    before = count_all(tmp_path, events[:15])
    root = Path(__file__).parents[2]
    killed = subprocess.Popen(
        [sys.executable, "-c", _REBUILDER, str(tmp_path), ",".join(kinds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert killed.stdout is not None
    assert killed.stdout.readline() == "half\n"
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)
    assert to_facts(keeper.read_profile()) == to_facts(before)
    keeper.recount_session(SESSION, events)
    keeper.recount_session(OTHER_SESSION, tell(kinds, OTHER_SESSION, pause=2))
    assert keeper.read_profile().xp == count_all(tmp_path / "x", events, tell(kinds, OTHER_SESSION, pause=2)).xp
