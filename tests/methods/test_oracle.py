"""Oracle: the best code of labels where one is known, and above all that learns elsewhere."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmark import Split, UsageError, evaluate, get_method


def split(labels: np.ndarray) -> Split:
    return Split(features=np.zeros((len(labels), 1), np.float32), labels=labels)


def oracle_map(bits: int, train: np.ndarray, query: np.ndarray, k: int | None = None) -> float:
    method = get_method("oracle")(bits).fit(split(train))
    return evaluate(method.encode(split(query)), method.encode(split(train)), query, train, k=k).map


@pytest.mark.parametrize(("classes", "bits"), [(2, 1), (4, 2), (7, 3), (100, 7), (100, 16), (30, 48)])
def test_map_is_one_where_words_suffice(classes: int, bits: int) -> None:
    labels = np.eye(classes, dtype=bool)[np.random.default_rng(0).integers(0, classes, 500)]
    assert oracle_map(bits, labels, labels, 50) == 1.0


def test_rows_without_a_label_are_out_of_the_way() -> None:
    labels = np.eye(5, dtype=bool)[np.arange(60) % 5]
    labels[::7] = False
    assert oracle_map(3, labels, labels) == 1.0


@pytest.mark.parametrize("seed", range(8))
def test_where_classes_outnumber_words_no_code_of_the_classes_is_better(seed: int) -> None:
    """Against every way to give the classes words, with as many queries of each class."""
    random = np.random.default_rng(seed)
    bits = 1 + seed % 2
    classes = 2**bits + int(random.integers(1, 3))
    train = np.eye(classes, dtype=bool)[np.repeat(np.arange(classes), random.integers(1, 15, classes))]
    query, words = np.eye(classes, dtype=bool), np.array(list(itertools.product((-1, 1), repeat=bits)))
    best = max(
        evaluate(words[list(own)], words[list(own)][train.argmax(axis=1)], query, train).map
        for own in itertools.product(range(2**bits), repeat=classes)
    )
    assert oracle_map(bits, train, query) == pytest.approx(best, abs=1e-9)


def multi_label_rows(seed: int) -> Split:
    random = np.random.default_rng(seed)
    labels = random.random((400, 10)) < 0.18
    middle = 2 * np.random.default_rng(9).standard_normal((10, 40))
    features = labels @ middle + random.standard_normal((400, 40))
    return Split(features=features.astype(np.float32), labels=labels)


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_with_several_labels_it_is_above_what_learns_from_features(bits: int) -> None:
    train, query = multi_label_rows(0), multi_label_rows(1)

    def score(name: str) -> float:
        method = get_method(name)(bits).fit(train)
        return evaluate(method.encode(query), method.encode(train), query.labels, train.labels, k=100).map

    others = {name: score(name) for name in ("sdh", "itq", "lsh", "one-hot")}
    assert score("oracle") > max(others.values()), others


def test_a_bit_is_that_of_most_classes() -> None:
    labels = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [0, 1, 1]], bool)
    codes = get_method("oracle")(8).fit(split(labels)).encode(split(labels)).astype(int)
    np.testing.assert_array_equal(codes[3], np.sign(codes[:3].sum(axis=0)))
    np.testing.assert_array_equal(codes[4], np.where(codes[1] == codes[2], codes[2], codes[1]))  # a tie: of the first


def test_without_labels_of_the_rows_to_encode_it_says_so() -> None:
    labels = np.eye(3, dtype=bool)
    with pytest.raises(UsageError, match="split: no labels"):
        get_method("oracle")(8).fit(split(labels)).encode(Split(features=np.zeros((2, 1), np.float32)))
