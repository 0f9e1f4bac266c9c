"""The cache folder: notes are whole or not there, locks exclude, and listeners hear what they asked for."""

import pytest

from benchmark.data.cache import cache_dir, listening, locked, read_note, tell, telling, write_note
from benchmark.errors import UsageError


def test_a_note_is_read_as_written(tmp_path):
    value = {"a": [1, None, "caf\udce9"], "b": {}}
    write_note(tmp_path / "deep" / "a.note", value)
    assert read_note(tmp_path / "deep" / "a.note") == value


def test_a_changed_bit_anywhere_is_noticed(tmp_path):
    path = tmp_path / "a.note"
    write_note(path, {"number": 12345})
    content = path.read_bytes()
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        assert read_note(path) is None
    for short in range(len(content)):
        path.write_bytes(content[:short])
        assert read_note(path) is None


def test_what_is_no_note_is_nothing(tmp_path):
    assert read_note(tmp_path) is None
    assert read_note(tmp_path / "gone") is None


def test_a_cache_that_cannot_be_made_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "cache", tmp_path / "file", tmp_path / ("x" * 5000)):
        monkeypatch.setenv("HASHBENCH_CACHE", str(path))
        with pytest.raises(UsageError, match=r"cannot be made: .*; name another by HASHBENCH_CACHE"):
            cache_dir()


def test_a_held_lock_is_waited_for_or_refused(tmp_path):
    with locked(tmp_path / "a"), pytest.raises(BlockingIOError), locked(tmp_path / "a", wait=False):
        pass
    with locked(tmp_path / "a", wait=False):
        pass


def test_the_innermost_listener_hears(capsys):
    heard = []
    tell("nobody", 1, 2)
    with telling(lambda *told: heard.append(("outer", *told))):
        tell("a", 1, 2)
        with telling(lambda *told: heard.append(("inner", *told))):
            tell("b", 2, 2)
        with telling(None):
            tell("c", 2, 2)
        tell("d", 0, 0)
    tell("nobody", 1, 2)
    assert heard == [("outer", "a", 1, 2), ("inner", "b", 2, 2), ("outer", "d", 0, 0)]


def test_who_listens_is_known_and_only_within_the_block():
    def hear(what, done, total): ...

    assert listening() is None
    with telling(hear):
        assert listening() is hear
    assert listening() is None
