"""The index of images: entries of any list find their file, and only inside the tree; the index follows the tree."""

import os

import pytest

from benchmark.data.cache import cache_dir, telling, write_note
from benchmark.data.image_index import images_under
from benchmark.errors import UsageError


def tree(root, *paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"")
    return images_under(root)


def test_published_entries_are_found_by_base_name(tmp_path):
    index = tree(tmp_path, "images/a.jpg", "train/b.JPEG", "other/notes.txt")
    assert index.find("/home/somebody/else/a.jpg") == "images/a.jpg"
    assert index.find("C:\\data\\b.JPEG") == "train/b.JPEG"
    assert index.find("notes.txt") is None
    assert index.find("./data/c.jpg") is None
    assert len(index) == 2


def test_whole_paths_do_not_mistake_one_folder_for_another(tmp_path):
    index = tree(tmp_path, "dogs/1.jpg", "images/cats/2.jpg")
    assert index.find("cats/1.jpg", whole=True) is None
    assert index.find("cats/1.jpg") == "dogs/1.jpg"
    assert index.find("/old/place/dogs/1.jpg", whole=True) == "dogs/1.jpg"
    assert index.find("cats/2.jpg", whole=True) == "images/cats/2.jpg"


def test_the_longest_common_end_decides_and_a_draw_is_refused(tmp_path):
    index = tree(tmp_path, "train/cats/1.jpg", "train/dogs/1.jpg")
    assert index.find("/x/dogs/1.jpg") == "train/dogs/1.jpg"
    with pytest.raises(UsageError, match=r"list file l.txt line 7: path '/x/1.jpg' may mean train/cats/1.jpg or"):
        index.find_all(["/x/dogs/1.jpg", "/x/1.jpg"], [6, 7], "l.txt")


def test_paths_that_leave_the_root_are_refused(tmp_path):
    index = tree(tmp_path / "root", "a.jpg")
    (tmp_path / "secret.jpg").write_bytes(b"")
    for entry in ("../secret.jpg", "x/../../secret.jpg", "..\\secret.jpg"):
        with pytest.raises(UsageError, match=r"list file l.txt line 1: path .* leaves the data root"):
            index.find_all([entry], [1], "l.txt")
    assert index.find(str(tmp_path / "secret.jpg")) is None


def test_the_index_sees_new_files_and_survives_links_in_a_circle(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert len(tree(tmp_path, "a/1.jpg")) == 1
    assert len(tree(tmp_path, "a/2.jpg")) == 2


def test_a_kept_index_is_used_and_follows_the_tree(tmp_path, settled, monkeypatch):
    tree(tmp_path / "root", "a/1.jpg")
    with monkeypatch.context() as patch:
        patch.setattr("benchmark.data.image_index.os.walk", lambda *a, **k: pytest.fail("walked again"))
        assert len(images_under(tmp_path / "root")) == 1
    before = (tmp_path / "root" / "a").stat()
    (tmp_path / "root" / "a" / "2.jpg").write_bytes(b"")
    os.utime(tmp_path / "root" / "a", ns=(before.st_atime_ns, before.st_mtime_ns))  # as copying tools do
    assert len(images_under(tmp_path / "root")) == 2


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", b"\xff"])
def test_a_damaged_index_is_made_again(tmp_path, settled, damage):
    """E: a damaged index was a traceback."""
    tree(tmp_path / "root", "a/1.jpg")
    (note,) = (cache_dir() / "index").glob("*.note")
    note.write_bytes(damage)
    assert len(images_under(tmp_path / "root")) == 1
    write_note(note, [1, 2])
    assert len(images_under(tmp_path / "root")) == 1


def test_names_of_any_bytes(tmp_path, settled):
    name = os.fsdecode(b"caf\xe9$\n.jpg")
    for _ in range(2):
        assert tree(tmp_path / os.fsdecode(b"r\xe9"), f"a/{name}").find(name) == f"a/{name}"


def test_looking_for_images_is_told(tmp_path):
    heard = []
    with telling(lambda *told: heard.append(told)):
        tree(tmp_path / "root", "a/1.jpg", "b/2.jpg", "b/3.jpg")
    assert heard[-1] == (f"looking for images under {tmp_path / 'root'}", 3, 0)
