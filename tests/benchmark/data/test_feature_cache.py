"""The feature cache: right rows, computed once, kept whole, resumed, verified, and shared by processes."""

import multiprocessing
import os
import signal
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark import Split, Splits, UsageError
from benchmark.data import feature_cache as features
from benchmark.data import hashing
from benchmark.data.cache import read_note, telling
from benchmark.data.feature_cache import FeatureSource, extract
from benchmark.data.images import ImageArrays, ImageFiles, Transform
from benchmark.deep.backbones import Backbone

DATASET = SimpleNamespace(name="tiny", revision="1")
TINY = FeatureSource("tiny")
TRANSFORM = Transform(resize=8, crop=6)


class Mean(torch.nn.Module):
    """Features that a test can compute in its head: the mean colour, `copies` times."""

    def __init__(self, copies=1):
        super().__init__()
        self.copies = copies

    def forward(self, images):
        return images.mean(dim=(2, 3)).repeat(1, self.copies)


class Counting:
    """Images that count how often each is decoded."""

    def __init__(self, array, counter):
        self.array, self.counter = array, counter

    def __len__(self):
        return len(self.array)

    def __getitem__(self, index):
        self.counter[self.array[index].tobytes()] += 1
        return self.array[index]


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    """A network of no weight, small chunks, and a cache of its own."""
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(features, "CHUNK", 8)
    monkeypatch.setattr(features, "BATCH", 4)
    monkeypatch.setattr(features, "weights_id", lambda name, weights, partial: f"{name}:{weights}:{partial}")
    monkeypatch.setattr(features, "transform_of", lambda name: TRANSFORM)
    monkeypatch.setattr(features, "load_backbone", tiny_backbone)


def tiny_backbone(name, weights=None, partial=False):
    copies = 2000 if name == "wide" else 1
    return Backbone(name, Mean(copies), torch.nn.Identity(), TRANSFORM, 3 * copies, "none")


def pictures(count, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, 10, 12, 3), np.uint8)


def slow_features(array):
    """Resize, cut, scale and average, one image at a time."""
    rows = []
    for image in array:
        resized = np.asarray(Image.fromarray(image).resize((8, 8), Image.Resampling.BILINEAR), np.float64)
        rows.append(((resized[1:7, 1:7] / 255 - TRANSFORM.mean) / TRANSFORM.std).mean(axis=(0, 1)))
    return np.array(rows)


def make(array, counter=None):
    """Query rows 0-4, database rows 5-29, training rows 20-29 and one of its own."""

    def split(rows):
        images = ImageArrays(array[rows]) if counter is None else Counting(array[rows], counter)
        return Split(images=images, ids=[f"row{row}" for row in rows])

    return Splits(split([*range(20, 30), 30]), split(list(range(5))), split(list(range(5, 30))))


def folder_of(cache):
    return next(path for path in cache.iterdir() if path.is_dir())


def test_every_row_gets_its_own_features(tmp_path):
    array = pictures(31)
    found = extract(DATASET, make(array), TINY, cache=tmp_path / "f", workers=0)
    expected = slow_features(array)
    np.testing.assert_allclose(found.query.features, expected[:5], atol=1e-5)
    np.testing.assert_allclose(found.database.features, expected[5:30], atol=1e-5)
    np.testing.assert_allclose(found.train.features, expected[20:31], atol=1e-5)
    assert isinstance(found.database.features, np.memmap)
    assert not found.database.features.flags.writeable


def test_an_image_is_computed_once_and_then_never(tmp_path):
    counter = Counter()
    array = pictures(31)
    for _ in range(2):
        extract(DATASET, make(array, counter), TINY, cache=tmp_path / "f", workers=0)
        assert set(counter.values()) == {1}
        assert len(counter) == 31


def test_rows_without_names_are_kept_apart(tmp_path):
    array = pictures(12)
    parts = [Split(images=ImageArrays(array[i : i + 4])) for i in (0, 4, 8)]
    found = extract(DATASET, Splits(*parts), TINY, cache=tmp_path / "f", workers=0)
    np.testing.assert_allclose(found.train.features, slow_features(array[:4]), atol=1e-5)
    np.testing.assert_allclose(found.database.features, slow_features(array[8:]), atol=1e-5)


@pytest.mark.parametrize(
    "change",
    [
        {"backbone": "other"},
        {"weights": "IMAGENET1K_V2"},
        {"cut": "trunk", "backbone": "alexnet"},
        {"partial": True},
    ],
)
def test_anything_that_changes_features_changes_the_key(change):
    splits = make(pictures(31))
    key = features.feature_folder(DATASET, splits, TINY)
    assert features.feature_folder(DATASET, splits, FeatureSource("tiny")) == key
    assert features.feature_folder(DATASET, splits, replace(TINY, **change)) != key


def test_another_revision_changes_the_key():
    splits, other = make(pictures(31)), SimpleNamespace(name="tiny", revision="2")
    assert features.feature_folder(DATASET, splits, TINY) != features.feature_folder(other, splits, TINY)


def test_a_network_without_layers_behind_its_trunk_is_run_once():
    splits = make(pictures(31))
    one, two = (
        features.feature_folder(DATASET, splits, FeatureSource("resnet50", cut=cut)) for cut in ("trunk", "penultimate")
    )
    assert one == two


class Stopped(Exception):
    pass


def stop_after(rows):
    def listener(what, done, total):
        if what == "features of tiny" and done >= rows:
            raise Stopped

    return telling(listener)


def kept_rows(cache):
    """Rows in the whole chunks that an interrupted extraction has left."""
    return sum(len(np.load(path)) for path in folder_of(cache).glob("chunk-*.npy"))


def test_interrupted_work_goes_on_where_it_stopped(tmp_path):
    array, counter, shown = pictures(31), Counter(), []
    with pytest.raises(Stopped), stop_after(20):
        extract(DATASET, make(array), TINY, cache=tmp_path / "f", workers=0)
    kept = kept_rows(tmp_path / "f")
    assert 16 <= kept < 31
    with telling(lambda what, done, total: shown.append((done, total))):
        again = extract(DATASET, make(array, counter), TINY, cache=tmp_path / "f", workers=0)
    np.testing.assert_allclose(again.query.features, slow_features(array[:5]), atol=1e-5)
    assert sum(counter.values()) == 31 - kept
    assert shown[0][0] > kept
    assert shown[-1] == (31, 31)


def test_a_damaged_chunk_is_computed_again(tmp_path):
    array = pictures(31)
    with pytest.raises(Stopped), stop_after(20):
        extract(DATASET, make(array), TINY, cache=tmp_path / "f", workers=0)
    chunk = min(folder_of(tmp_path / "f").glob("chunk-*.npy"))
    content = bytearray(chunk.read_bytes())
    content[-1] ^= 1
    chunk.write_bytes(content)
    found = extract(DATASET, make(array), TINY, cache=tmp_path / "f", workers=0)
    np.testing.assert_allclose(found.database.features, slow_features(array[5:30]), atol=1e-5)


@pytest.mark.parametrize("damage", ["flip a bit", "cut it short", "lose the note", "lose the table"])
def test_a_damaged_table_is_computed_again(tmp_path, damage):
    array = pictures(31)
    extract(DATASET, make(array), TINY, cache=tmp_path / "f", workers=0)
    folder = folder_of(tmp_path / "f")
    content = bytearray((folder / "features.npy").read_bytes())
    if damage == "flip a bit":
        content[-1] ^= 1
        (folder / "features.npy").write_bytes(content)
    elif damage == "cut it short":
        (folder / "features.npy").write_bytes(content[:-8])
    elif damage == "lose the note":
        (folder / "features.note").unlink()
    else:
        (folder / "features.npy").unlink()
    found = extract(DATASET, make(array), TINY, cache=tmp_path / "f", workers=0)
    np.testing.assert_allclose(found.train.features, slow_features(array[20:31]), atol=1e-5)
    assert read_note(folder / "features.note")["rows"] == 31


def test_wide_rows_are_kept_in_half_precision(tmp_path):
    found = extract(DATASET, make(pictures(31)), FeatureSource("wide"), cache=tmp_path / "f", workers=0)
    assert found.query.features.dtype == np.float16
    narrow = extract(DATASET, make(pictures(31)), TINY, cache=tmp_path / "f", workers=0)
    assert narrow.query.features.dtype == np.float32
    np.testing.assert_allclose(found.query.features[:, :3], narrow.query.features, atol=2e-3)


def work(cache, results):
    found = extract(DATASET, make(pictures(31)), TINY, cache=cache, workers=0)
    results.put(np.array(found.database.features))


def test_two_processes_share_one_cache(tmp_path):
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    workers = [context.Process(target=work, args=(tmp_path / "f", results)) for _ in range(3)]
    for worker in workers:
        worker.start()
    found = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    for one in found:
        np.testing.assert_allclose(one, slow_features(pictures(31)[5:30]), atol=1e-5)
    assert not list(folder_of(tmp_path / "f").glob("chunk-*"))


def die_half_way(cache):
    def die(what, done, total):
        if done >= 20:
            os.kill(os.getpid(), signal.SIGKILL)

    with telling(die):
        extract(DATASET, make(pictures(31)), TINY, cache=cache, workers=0)


def test_a_killed_process_leaves_whole_chunks(tmp_path):
    child = multiprocessing.get_context("fork").Process(target=die_half_way, args=(tmp_path / "f",))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    folder = folder_of(tmp_path / "f")
    (folder / ".chunk-000000016.x.npy").write_bytes(b"begun")
    kept, counter = kept_rows(tmp_path / "f"), Counter()
    found = extract(DATASET, make(pictures(31), counter), TINY, cache=tmp_path / "f", workers=0)
    np.testing.assert_allclose(found.database.features, slow_features(pictures(31)[5:30]), atol=1e-5)
    assert kept >= 16
    assert sum(counter.values()) == 31 - kept
    assert sorted(p.name for p in folder.iterdir()) == ["features.lock", "features.note", "features.npy"]


# Files


def write_files(folder, count):
    folder.mkdir(parents=True)
    for number, image in enumerate(pictures(count)):
        Image.fromarray(image).save(folder / f"{number}.png")


def of_files(folder, count):
    def split(name, rows):
        files = ImageFiles(folder, [f"{r}.png" for r in rows], f"list file {name}.txt", np.array(rows) + 1)
        return Split(images=files, ids=[f"{r}.png" for r in rows])

    return Splits(split("train", range(4, count)), split("query", range(4)), split("database", range(4, count)))


def test_worker_processes_decode_the_same(tmp_path):
    write_files(tmp_path / "images", 19)
    splits = of_files(tmp_path / "images", 19)
    one = extract(DATASET, splits, TINY, cache=tmp_path / "one", workers=0)
    two = extract(DATASET, splits, TINY, cache=tmp_path / "two", workers=2)
    np.testing.assert_array_equal(one.database.features, two.database.features)
    np.testing.assert_allclose(one.database.features, slow_features(pictures(19)[4:]), atol=1e-5)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_broken_file_is_named_with_its_list_line(tmp_path, workers):
    write_files(tmp_path / "images", 12)
    broken = tmp_path / "images" / "9.png"
    broken.write_bytes(broken.read_bytes()[:-60])
    with pytest.raises(UsageError) as caught:
        extract(DATASET, of_files(tmp_path / "images", 12), TINY, cache=tmp_path / "f", workers=workers)
    assert str(caught.value).startswith(f"list file database.txt line 10: image {broken} is broken")
    assert "\n" not in str(caught.value)


# What the cache is trusted for


def rot(path, monkeypatch):
    """Change one bit on the disk and nothing that `stat` tells."""
    real = os.stat(path)
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    unchanged = hashing.signature(real)
    signature = hashing.signature
    monkeypatch.setattr(features, "signature", lambda now: unchanged if now.st_ino == real.st_ino else signature(now))


@pytest.mark.parametrize("due", ["small table", "a week later"])
def test_bit_rot_in_features_is_noticed(tmp_path, monkeypatch, settled, due):
    """A6: a sha256 lay beside the features and was never looked at again."""
    array = pictures(31)
    extract(DATASET, make(array), TINY, cache=tmp_path / "f", workers=0)
    table = folder_of(tmp_path / "f") / "features.npy"
    rot(table, monkeypatch)
    if due == "a week later":
        monkeypatch.setattr(features, "CHEAP", -1)
        now = features.time.time_ns
        before = extract(DATASET, make(array), TINY, cache=tmp_path / "f", workers=0)
        assert not np.allclose(np.array(before.train.features[-1]), slow_features(array[30:31]), atol=1e-7, rtol=0)
        monkeypatch.setattr(features.time, "time_ns", lambda: now() + hashing.WEEK)
    found = extract(DATASET, make(array), TINY, cache=tmp_path / "f", workers=0)
    np.testing.assert_allclose(found.train.features, slow_features(array[20:31]), atol=1e-5)
    assert features.verify_table(table.parent)


def test_a_large_sound_table_is_not_read_whenever_it_is_opened(tmp_path, monkeypatch, settled):
    monkeypatch.setattr(features, "CHEAP", -1)
    extract(DATASET, make(pictures(31)), TINY, cache=tmp_path / "f", workers=0)
    monkeypatch.setattr(features, "hashed_now", lambda path: pytest.fail("read again"))
    extract(DATASET, make(pictures(31)), TINY, cache=tmp_path / "f", workers=0)


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"no table at all", None])
def test_what_stands_in_for_a_table_is_replaced(tmp_path, content):
    array = pictures(31)
    extract(DATASET, make(array), TINY, cache=tmp_path / "f", workers=0)
    table = folder_of(tmp_path / "f") / "features.npy"
    if content is None:
        np.save(table, np.full((31, 3), np.nan, np.float32))
    else:
        table.write_bytes(content)
    found = extract(DATASET, make(array), TINY, cache=tmp_path / "f", workers=0)
    np.testing.assert_allclose(found.train.features, slow_features(array[20:31]), atol=1e-5)


def test_files_of_equal_names_and_other_bytes_are_other_features(tmp_path):
    """A1: two folders with equal file names shared cached features, whatever the revision says."""
    for name, seed in (("clean", 0), ("noisy", 1)):
        (tmp_path / name).mkdir()
        for number, image in enumerate(pictures(12, seed)):
            Image.fromarray(image).save(tmp_path / name / f"{number}.png")
    one, two = (extract(DATASET, of_files(tmp_path / n, 12), TINY, cache=tmp_path / "f", workers=0)
                for n in ("clean", "noisy"))  # fmt: skip
    np.testing.assert_allclose(one.query.features, slow_features(pictures(4)), atol=1e-5)
    np.testing.assert_allclose(two.query.features, slow_features(pictures(12, 1)[:4]), atol=1e-5)


@pytest.mark.slow
def test_the_code_that_makes_features_is_part_of_the_key(monkeypatch):
    splits = make(pictures(31))
    before = features.feature_folder(DATASET, splits, TINY)
    monkeypatch.setattr(features, "_features", tiny_backbone)
    assert features.feature_folder(DATASET, splits, TINY) != before


def test_a_cache_without_room_is_one_line(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(features.np, "save", full)
    with pytest.raises(UsageError, match=r"features cannot be kept in .*: No space left on device; make room"):
        extract(DATASET, make(pictures(31)), TINY, cache=tmp_path / "f", workers=0)


def saved(folder, array):
    folder.mkdir(exist_ok=True)
    for row, image in enumerate(array):
        Image.fromarray(image).save(folder / f"{row}.png")


def filed(folder):
    """Thirty rows of files: the splits as a data set gives them, whose revision has seen every byte."""
    paths = {"train": range(20, 30), "query": range(5), "database": range(5, 30)}
    images = {part: ImageFiles(folder, [f"{row}.png" for row in rows]) for part, rows in paths.items()}
    return Splits(**{part: Split(images=found, ids=[*found.paths]) for part, found in images.items()})


def test_pictures_replaced_while_features_are_made_leave_no_wrong_table(tmp_path, monkeypatch):
    """The table would wait under the name of the pictures as they were, for whoever puts them back."""
    array, folder = pictures(30), tmp_path / "pictures"
    saved(folder, array)
    whole = features._write_chunk

    def replaced(*chunk):
        saved(folder, pictures(30, seed=1))
        return whole(*chunk)

    with monkeypatch.context() as patch:
        patch.setattr(features, "_write_chunk", replaced)
        with pytest.raises(UsageError, match="is not what it was"):
            extract(DATASET, filed(folder), TINY, cache=tmp_path / "f", workers=0)
    saved(folder, array)
    found = extract(DATASET, filed(folder), TINY, cache=tmp_path / "f", workers=0)
    np.testing.assert_allclose(found.database.features, slow_features(array)[5:], atol=1e-5)


def test_weights_replaced_while_features_are_made_leave_no_wrong_table(tmp_path, monkeypatch):
    """Also: another file under the same path on the worker that computes a chunk."""
    told = iter(["as planned", "as planned", "another"])
    monkeypatch.setattr(features, "weights_id", lambda *_: next(told))
    with pytest.raises(UsageError, match="not what they were when features were begun"):
        extract(DATASET, make(pictures(31)), FeatureSource("tiny", "w.pth"), cache=tmp_path / "f", workers=0)
    assert not list((tmp_path / "f").rglob("*.npy"))
