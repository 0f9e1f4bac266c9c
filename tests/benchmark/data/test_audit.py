"""The audit counts what a slow reading counts, and finds the known faults of the published lists."""

import itertools
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark import PairSimilarity, Split, Splits, as_multi_hot
from benchmark.data.audit import audit, audit_text, class_groups
from benchmark.data.images import ImageFiles
from benchmark.registry import get_dataset

LABELS = st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=5)


def splits(train, query, database, names=None):
    parts = dict(zip(("train", "query", "database"), (train, query, database), strict=True))
    ids = names or {}
    return Splits(**{p: Split(labels=np.array(rows, bool), ids=ids.get(p)) for p, rows in parts.items()})


def slow_chance(query, database, k):
    """Mean AP@k over every order of the database; queries without a relevant item are skipped."""
    scores = []
    for asked in np.array(query):
        relevant = [bool((asked & row).any()) for row in np.array(database)]
        if not any(relevant):
            continue
        orders = list(itertools.permutations(relevant))
        total = 0.0
        for order in orders:
            top = order[:k]
            hits = [i for i, good in enumerate(top) if good]
            total += sum((n + 1) / (i + 1) for n, i in enumerate(hits)) / len(hits) if hits else 0.0
        scores.append(total / len(orders))
    return np.mean(scores) if scores else None


@given(query=LABELS, database=LABELS, k=st.integers(1, 7))
@settings(max_examples=60, deadline=None)
def test_chance_is_the_mean_over_all_orders(query, database, k):
    found = audit(splits(database, query, database), k).chance_map
    assert found == pytest.approx(slow_chance(query, database, k))


@given(train=LABELS)
@settings(max_examples=60, deadline=None)
def test_counts_agree_with_a_slow_reading(train):
    found = audit(splits(train, train, train), 5)
    rows = np.array(train)
    pairs = list(itertools.combinations(range(len(rows)), 2))
    similar = [bool((rows[i] & rows[j]).any()) for i, j in pairs]
    assert found.similar_pairs == (pytest.approx(np.mean(similar)) if pairs else None)
    part = found.parts["train"]
    assert part.unlabelled == sum(not any(row) for row in train)
    assert part.class_counts == [sum(row[c] for row in train) for c in range(3)]


def test_overlap_is_an_error_unless_allowed():
    names = {"train": ["a", "b"], "query": ["c", "d"], "database": ["a", "c"]}
    one = [[1, 0], [0, 1]]
    found = audit(splits(one, one, one, names), 5)
    assert found.overlap == 1
    assert found.train_outside_database == 1
    assert found.errors[0].startswith("1 of 2 query rows also in the database")
    allowed = audit(splits(one, one, one, names), 5, allow_overlap=True)
    assert not allowed.errors
    assert allowed.warnings[0] == "1 of 2 query rows also in the database"
    assert "1 training row outside the database" in allowed.warnings


def test_duplicates_and_unlabelled_rows_are_warnings():
    rows = [[1, 0], [0, 0], [0, 1]]
    names = {"train": ["a", "a", "b"], "query": ["c", "d", "e"], "database": ["a", "b", "x"]}
    found = audit(splits(rows, rows, rows, names), 5)
    assert found.parts["train"].duplicates == 1
    assert "1 duplicate row in train" in found.warnings
    assert "1 of 3 rows in train without a label" in found.warnings


def test_a_query_with_the_features_of_a_database_row_is_noticed():
    rng = np.random.default_rng(0)
    database, query = rng.normal(size=(50, 7)), rng.normal(size=(5, 7))
    query[3] = database[17]
    labels = np.zeros(50, int)
    parts = {"database": Split(features=database, labels=labels), "train": Split(features=database, labels=labels)}
    found = audit(Splits(query=Split(features=query, labels=labels[:5]), **parts), 5)
    assert found.same_features == 1
    assert "1 query row with the features of a database row" in found.warnings


def test_where_all_queries_are_of_classes_without_training_rows_there_are_no_groups():
    many = np.repeat(np.arange(10), [50, *[5] * 9])
    part = Split(features=np.random.default_rng(0).normal(size=(len(many), 3)), labels=as_multi_hot(many, 12))
    for classes, groups in (((3, 11), 3), ((10, 11), 0)):
        asked = Split(features=np.ones((2, 3)), labels=as_multi_hot(np.array(classes), 12))
        assert len(audit(Splits(part, asked, part), 5).groups) == groups


def test_groups_follow_the_papers_shares():
    counts = np.array([5] * 90 + [400] * 9 + [1300])
    groups = class_groups(counts)
    assert groups == {"head": [99], "middle": list(range(90, 99)), "tail": list(range(90))}
    assert class_groups([130] * 100) == {}
    assert class_groups([100, 1]) == {}
    assert {name: len(c) for name, c in class_groups([9, 1, 1, 1]).items()} == {"head": 1, "middle": 1, "tail": 2}


def test_training_without_labels_is_audited():
    similarity = PairSimilarity(3, np.array([[0, 1], [1, 2]]), np.array([True, False]))
    train = Split(features=np.eye(3), similarity=similarity)
    scored = Split(features=np.eye(3) + 1, labels=np.array([0, 1, 2]))
    found = audit(Splits(train, scored, Split(features=np.eye(3) + 2, labels=np.array([0, 2, 1]))), 5)
    assert found.similar_pairs == 0.5
    assert found.parts["train"].class_counts is None
    assert not found.errors


def test_the_audit_is_plain_data_and_text():
    one = [[1, 0], [0, 1]]
    names = {"query": ["a", "b"], "database": ["a", "c"], "train": ["c", "d"]}
    found = audit(splits(one, one, one, names), 5)
    assert json.loads(json.dumps(found.as_dict())) == found.as_dict()
    text = audit_text(found)
    assert "query rows in database: 1" in text
    assert "error: 1 of 2 query rows" in text
    assert "MAP@5 of a random ranking" in text


# The published lists


@pytest.fixture(scope="module")
def audits(shared_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    with tarfile.open(shared_data / "paper_lists.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HASHBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        found = {}
        for name in ("imagenet", "imagenet-balanced", "nus", "coco"):
            dataset = get_dataset(name, Path(folder))
            assert dataset.protocol == "published lists"
            found[name] = audit(dataset.load(), dataset.map_cutoff)
        return found


@pytest.mark.slow
def test_hashnets_coco_queries_are_inside_its_database(audits):
    found = audits["coco"]
    assert found.overlap == found.parts["query"].rows == 4_000
    assert found.errors
    assert found.train_outside_database == 10_000
    assert found.parts["train"].labels_per_row == pytest.approx(2.929, abs=5e-4)
    assert found.similar_pairs == pytest.approx(0.350, abs=5e-4)


def test_nus_training_rows_without_label_and_twice(audits):
    part = audits["nus"].parts["train"]
    assert (part.unlabelled, part.duplicates) == (2_203, 5)
    assert "2,203 of 10,000 rows in train without a label" in audits["nus"].warnings
    assert "5 duplicate rows in train" in audits["nus"].warnings
    assert audits["nus"].parts["query"].unlabelled == 0
    assert audits["nus"].similar_pairs == pytest.approx(0.1697, abs=5e-5)


def test_the_true_skew_of_imagenet(audits):
    found = audits["imagenet"]
    counts = found.parts["train"].class_counts
    by_group = {name: sorted((counts[c] for c in members), reverse=True) for name, members in found.groups.items()}
    assert by_group["head"] == [1300]
    assert by_group["middle"] == [422, 421, 420, 418, 415, 409, 405, 402, 385]
    assert len(by_group["tail"]) == 90
    assert (by_group["tail"][0], by_group["tail"][-1], sum(by_group["tail"])) == (104, 7, 5_003)
    assert found.groups["head"] == [87]
    assert found.class_names[87] == "n04435653"
    assert found.similar_pairs == pytest.approx(0.0355, abs=5e-5)
    assert found.overlap == found.train_outside_database == 0
    assert not found.errors


def test_hashnets_balanced_list_has_no_groups(audits):
    found = audits["imagenet-balanced"]
    assert found.groups == {}
    assert set(found.parts["train"].class_counts) == {130}


# The same image under two names


@pytest.mark.slow
def test_published_coco_lists_leak_under_any_data_set(shared_data, tmp_path, monkeypatch):
    """A8: 4,000 of 4,000 queries are in the database under another path prefix, and the audit counted 0."""
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    with tarfile.open(shared_data / "paper_lists.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / "coco"
    (folder / "database_hashnet.txt").rename(folder / "database.txt")
    dataset = get_dataset(f"lists:{folder}")
    found = audit(dataset.load(), dataset.map_cutoff)
    assert found.overlap == found.overlap_by_base_name == 4_000
    assert found.errors[0].startswith("4,000 of 4,000 query rows also in the database")
    assert any("path prefixes differ" in warning for warning in found.warnings)
    assert found.train_outside_database == 10_000
    clean = get_dataset(f"lists:{folder}", drop_overlap=True).load()
    assert audit(clean, dataset.map_cutoff).overlap == 0
    assert len(clean.database) == 112_218 - 4_000


def files(folder, names):
    return Split(images=ImageFiles(folder, names), labels=np.arange(len(names)) % 2, ids=names)


def test_copies_of_queries_in_the_database_are_overlap(tmp_path):
    """A8: the bytes decide where there are files; a base name in two folders is no overlap by itself."""
    for name, content in {
        "a/1.jpg": b"1",
        "b/1.jpg": b"1",
        "a/2.jpg": b"2",
        "b/2.jpg": b"other",
        "b/9.jpg": b"2",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    query, database = files(tmp_path, ["a/1.jpg", "a/2.jpg"]), files(tmp_path, ["b/1.jpg", "b/2.jpg", "b/9.jpg"])
    found = audit(Splits(query, query, database), 5)
    assert (found.overlap, found.overlap_by_base_name, found.same_bytes) == (1, 0, 1)
    assert found.train_in_query == 2
    assert found.train_outside_database == 1
    assert "1 query image with the bytes of a database image of another name" in found.warnings
    assert found.errors[0].startswith("1 of 2 query rows also in the database")


def test_equal_bytes_under_two_names_are_a_warning(tmp_path):
    for name in ("1.jpg", "2.jpg", "3.jpg"):
        (tmp_path / name).write_bytes(b"same" if name != "3.jpg" else b"other")
    part = files(tmp_path, ["1.jpg", "2.jpg", "3.jpg", "3.jpg"])
    found = audit(Splits(part, files(tmp_path, ["4.jpg", "5.jpg"]), part), 5)
    assert (found.parts["train"].same_bytes, found.parts["train"].duplicates) == (1, 1)
    assert "1 image of train with the bytes of another one, under another name" in found.warnings
