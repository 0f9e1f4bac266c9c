"""What the framework keeps around every method, whatever the author wrote."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading
from typing import Any

import numpy as np
import pytest
import torch

from benchmark import InvalidCodes, PairSimilarity, Split, UsageError, get_method, register_method
from benchmark.guard import at_most_threads
from benchmark.registry import methods

FEATURES = np.arange(12, dtype=np.float32).reshape(6, 2) - 5
LABELS = np.array([0, 1, 0, 1, -1, 0])


class Plain:
    """The least that an author can write."""

    def __init__(self, bits: int, seed: int = 0) -> None:
        self.bits = bits

    def fit(self, train: Split) -> None:
        self.seen = train

    def encode(self, split: Split) -> Any:
        self.shown = split
        return np.where(split.features[:, :1] > 0, 1, -1).repeat(self.bits, axis=1)


class Super(Plain):
    """Calls what it overrides."""

    def fit(self, train: Split) -> Super:
        super().fit(train)
        self.codes_of_training_rows = self.encode(train)
        return self

    def encode(self, split: Split) -> Any:
        return super().encode(split)


class Labelled(Plain):
    @staticmethod
    def unsupported(train: Split, bits: int) -> str | None:
        return "nine bits are too many" if bits == 9 else None


class Pairwise(Plain):
    @classmethod
    def unsupported(cls, train: Split, bits: int) -> str | None:
        return "labels are in sight" if train.labels is not None or hasattr(train.similarity, "_labels") else None


DECLARED: dict[str, Any] = {"Labelled": "labels", "Pairwise": "similarity"}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    methods.load()
    monkeypatch.setattr(methods, "_plugins", dict(methods._plugins))
    for cls in (Plain, Super, Labelled, Pairwise):
        register_method(f"test-{cls.__name__}", title="X", needs=DECLARED.get(cls.__name__, "nothing"))(cls)


def split(**parts: Any) -> Split:
    return Split(**({"features": FEATURES, "labels": LABELS, "ids": list("abcdef")} | parts))


@pytest.mark.parametrize("cls", [Plain, Super])
def test_encode_before_fit_says_to_call_fit_first(cls: Any) -> None:
    method = cls(4)
    with pytest.raises(UsageError, match=r"encode was called before fit; call fit\(train\) first"):
        method.encode(split())
    assert method.fit(split()) is method
    assert method.encode(split()).dtype == np.int8


def test_a_fit_that_fails_leaves_the_method_unfitted(monkeypatch: pytest.MonkeyPatch) -> None:
    method: Any = Super(4).fit(split())

    def fails(self: Any, split: Split) -> Any:
        raise RuntimeError

    monkeypatch.setattr(Plain, "encode", fails)
    with pytest.raises(RuntimeError):
        method.fit(split())
    with pytest.raises(UsageError, match="call fit"):
        method.encode(split())


def test_input_cannot_be_written_to_and_the_callers_arrays_stay_as_they_are() -> None:
    own = FEATURES.copy()
    method: Any = Labelled(4).fit(split(features=own))
    method.encode(split(features=own))
    for array in (method.seen.features, method.seen.labels, method.shown.features):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    own[0] = 1
    assert own.flags.writeable


def test_labels_are_withheld_by_every_door() -> None:
    """C14: not in the split, not in the similarity's attributes, not in `unsupported`, not in image paths."""

    class Photos:
        paths = ("cat/1.jpg",) * 6

        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> np.ndarray:
            return np.full((2, 2, 3), index, np.uint8)

    method: Any = Pairwise(4).fit(split())
    assert method.seen.labels is None
    assert method.seen.ids is None
    assert not any(isinstance(value, np.ndarray) for value in vars(method.seen.similarity).values())
    similar, known = method.seen.similarity.block(np.arange(6), np.arange(6))
    assert similar[0].tolist() == [True, False, True, False, False, True]
    assert known.all()
    assert method.seen.similarity.take(np.array([0, 2])).block(np.arange(2), np.arange(2))[0].all()
    assert Plain(4).fit(split()).seen.similarity is None  # type: ignore[func-returns-value]
    images = split(images=Photos()).visible("images", "nothing").images
    assert images is not None
    assert len(images) == 6
    assert images[3].max() == 3
    assert not hasattr(images, "paths")
    assert not images[3].flags.writeable


def test_what_is_hidden_survives_pickling_and_copying() -> None:
    seen = split(images=np.zeros((6, 2, 2, 3), np.uint8)).visible("images", "similarity")
    for twin in (pickle.loads(pickle.dumps(seen)), copy.deepcopy(seen)):
        assert twin.similarity.degrees().similar.tolist() == seen.similarity.degrees().similar.tolist()  # type: ignore[union-attr]
        assert twin.images[2].shape == (2, 2, 3)


def pairs_only() -> Split:
    return Split(features=FEATURES, similarity=PairSimilarity(6, np.array([[0, 1]]), np.array([True])))


@pytest.mark.parametrize(
    ("name", "train", "reason"),
    [
        ("test-Labelled", pairs_only(), "learns from class labels, but the training split has similar pairs only"),
        ("test-Labelled", Split(features=FEATURES), "learns from class labels, but the training split has none"),
        ("test-Labelled", Split(features=FEATURES, labels=np.full(6, -1)), "no training row has one"),
        ("test-Pairwise", Split(features=FEATURES), "neither labels nor a pair list"),
        ("sdh", pairs_only(), "similar pairs only"),
        ("ksh", Split(features=FEATURES), "neither labels nor a pair list"),
        ("dph", Split(features=FEATURES), "neither labels nor a pair list"),
    ],
)
def test_data_without_what_was_declared_are_declined_with_the_reason(name: str, train: Split, reason: str) -> None:
    cls = get_method(name)
    assert reason in str(cls.unsupported(train, 4))
    assert reason in str(cls(4).unsupported(train, 4))
    with pytest.raises(UsageError, match=f"{name}: .*{reason}"):
        cls(4).fit(train)


def test_what_the_author_declines_is_refused_by_fit_too() -> None:
    assert Labelled.unsupported(split(), 8) is None
    assert Labelled.unsupported(split(), 9) == "nine bits are too many"
    with pytest.raises(UsageError, match="test-Labelled: nine bits"):
        Labelled(9).fit(split())
    assert Pairwise.unsupported(split(), 8) is None
    assert Pairwise.unsupported(pairs_only(), 8) is None


GOOD = np.where(FEATURES > 0, 1, -1)


@pytest.mark.parametrize("codes", [GOOD.astype(np.float32), GOOD.astype(np.int64), GOOD.tolist(), torch.tensor(GOOD)])
def test_plus_and_minus_one_of_another_type_are_converted(codes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plain, "encode", lambda self, split: codes)
    found = Super(2).fit(split()).encode(split())  # type: ignore[union-attr]
    np.testing.assert_array_equal(found, GOOD)
    assert found.dtype == np.int8


@pytest.mark.parametrize(
    ("codes", "told"),
    [
        (GOOD > 0, "codes of bool"),
        (np.ones((6, 2), bool), "codes of bool"),
        ((GOOD > 0).astype(np.int8), "codes of 0 and 1 of type int8"),
        ((GOOD > 0).astype(np.float32), "codes of 0 and 1 of type float32"),
        (np.where(GOOD > 0, np.nan, 1), "nan at row"),
        (GOOD * 0.5, "values -0.5, 0.5 are not binary"),
        (np.sign(np.arange(12).reshape(6, 2) - 1), "1 zeros among 12"),
        (GOOD[:, :1], r"shape \(6, 1\)"),
        (GOOD[:3], r"shape \(3, 2\)"),
        (None, "None"),
    ],
)
def test_other_codes_are_invalid_and_told_what_is_expected(
    codes: Any, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Plain, "encode", lambda self, split: codes)
    with pytest.raises(InvalidCodes, match=f"test-Super: encode.*{told}.*expected"):
        Super(2).fit(split()).encode(split())  # type: ignore[union-attr]


def test_what_is_no_split_is_told_how_to_become_one() -> None:
    with pytest.raises(UsageError, match=r"given a ndarray, expected a Split: write Split\(features="):
        Plain(4).fit(FEATURES)  # type: ignore[func-returns-value,arg-type]


def test_the_class_stays_the_authors() -> None:
    method: Any = Super(4).fit(split())
    assert type(method) is Super
    assert list(inspect.signature(Super.fit).parameters) == ["self", "train"]
    assert list(inspect.signature(Super).parameters) == ["bits", "seed"]
    for twin in (copy.deepcopy(method), pickle.loads(pickle.dumps(method))):
        np.testing.assert_array_equal(twin.encode(split()), method.encode(split()))
        assert type(twin) is Super


def test_a_subclass_is_guarded_whether_registered_or_not() -> None:
    class Below(Labelled):
        def fit(self, train: Split) -> None:
            self.seen = train

    method: Any = Below(4)
    with pytest.raises(UsageError, match="call fit"):
        method.encode(split())
    assert method.fit(split()).encode(split()).dtype == np.int8
    assert not method.seen.features.flags.writeable
    derived: Any = register_method("test-Below", title="X", needs="nothing")(Below)
    assert derived(4).fit(split()).seen.labels is None
    assert Labelled(4).fit(split()).seen.labels is not None  # type: ignore[func-returns-value]


def test_registering_twice_guards_once() -> None:
    before = Plain.fit
    register_method("test-Plain", title="X")(Plain)
    assert Plain.fit is before


def blas_threads() -> list[int]:
    import threadpoolctl

    return [library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]


class Threads(Plain):
    thread_limit = 2

    def fit(self, train: Split) -> None:
        self.threads = [torch.get_num_threads(), *blas_threads()]


@pytest.mark.parametrize(("around", "inside"), [(4, 2), (1, 1)])
def test_threads_are_lowered_never_raised_and_given_back(around: int, inside: int) -> None:
    """13: numpy's libraries took every core for products of 256 x 256."""
    import threadpoolctl

    register_method("test-Threads", title="X")(Threads)
    own = torch.get_num_threads()
    try:
        with threadpoolctl.threadpool_limits(around, user_api="blas"):
            torch.set_num_threads(around)
            before = [torch.get_num_threads(), *blas_threads()]
            found = Threads(4).fit(split()).threads  # type: ignore[func-returns-value]
            assert found == [min(threads, 2) for threads in before]
            assert max(found) == inside
            assert [torch.get_num_threads(), *blas_threads()] == before
    finally:
        torch.set_num_threads(own)


def test_threads_are_given_back_after_an_error() -> None:
    before = blas_threads(), torch.get_num_threads()
    with pytest.raises(RuntimeError), at_most_threads(1):
        raise RuntimeError
    assert (blas_threads(), torch.get_num_threads()) == before


def test_two_threads_may_encode_with_one_method() -> None:
    method: Any = Super(4).fit(split())
    found: list[Any] = []
    both = [threading.Thread(target=lambda: found.append(method.encode(split()))) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert [codes.dtype for codes in found] == [np.int8, np.int8]
