"""Files that people give: read whole, or one line; nothing waits and nothing raises anything else."""

import os

import pytest

from benchmark.data.given_files import given_path, is_folder, is_regular_file, need_folder, read_bytes, read_text
from benchmark.errors import UsageError


def test_looking_never_raises(tmp_path):
    for path in (tmp_path / ("x" * 5000), tmp_path / "nul\0", tmp_path / "gone" / "deeper"):
        assert not is_regular_file(path)
        assert not is_folder(path)


def denied(path):
    raise PermissionError(13, "denied")


@pytest.mark.parametrize("kind", ["pipe", "folder", "gone", "long", "locked"])
def test_what_cannot_be_read_is_one_line(tmp_path, kind, monkeypatch):
    path = tmp_path / ("x" * 5000 if kind == "long" else "f")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "locked":
        path.write_text("")
        monkeypatch.setattr(
            "pathlib.Path.read_bytes", lambda self: (_ for _ in ()).throw(PermissionError(13, "denied"))
        )
    message = {"pipe": "is no file", "folder": "is no file", "locked": "cannot be read: denied"}
    with pytest.raises(UsageError, match=f"^table .* {message.get(kind, 'does not exist')}$"):
        read_bytes("table", path)


def test_text_is_utf8_with_plain_line_ends(tmp_path):
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfa\r\nb\x85\n".replace(b"\x85", "\x85".encode()))
    assert read_text("table", tmp_path / "f") == "a\nb\x85\n"
    (tmp_path / "f").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="not UTF-8 text"):
        read_text("table", tmp_path / "f")


def test_folders_and_homes(tmp_path):
    assert need_folder("folder", tmp_path) == tmp_path
    (tmp_path / "f").write_text("")
    with pytest.raises(UsageError, match=r"folder .*f is no folder"):
        need_folder("folder", tmp_path / "f")
    assert str(given_path("~nobody-of-that-name/x")) == "~nobody-of-that-name/x"
