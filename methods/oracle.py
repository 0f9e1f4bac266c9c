"""Oracle: a code of the true labels, which no method sees of the rows that it encodes. What there is to reach."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import numpy as np

from benchmark import Split, register_method
from benchmark.deep import class_centres


@register_method("oracle", title="Oracle", family="control", needs="labels", labels_at_encode=True)
class Oracle:
    """Each class has a word, far from the others'; a row's bit is that of most of its classes, on a tie of the first.

    Where rows have one label and words suffice (classes <= 2^K), MAP is 1, and there is no better code. Where classes
    outnumber words, some share one, so that no moving or exchanging of classes raises the mean over classes of the
    expected AP among training rows. With several labels to a row it is no bound, for none is known that can be
    computed; it is above all methods here, as the majority keeps what is near to each of its classes near.

    Differs: a yardstick, not a published method; there is no original.
    """

    bits: int
    seed: int

    def fit(self, train: Split) -> None:
        sizes = train.required_labels().sum(axis=0)
        words = min(len(sizes) + 1, 2**self.bits)  # one more: for rows without a label, where there is one to spare
        centres = class_centres("hadamard", words, self.bits, self.seed)
        self.nothing = centres[-1]
        self.words = centres[shared_words(sizes, words) if len(sizes) > words else np.arange(len(sizes))]

    def encode(self, split: Split) -> np.ndarray:
        labels = split.required_labels()
        votes, first = labels.astype(np.float32) @ self.words, self.words[labels.argmax(axis=1)]
        most = np.where(votes == 0, first, votes)
        return np.where(np.where(labels.any(axis=1, keepdims=True), most, self.nothing) > 0, 1, -1)


def shared_words(sizes: np.ndarray, words: int) -> np.ndarray:
    """The number of its word for each class, where there are fewer words than classes."""
    order = np.argsort(-sizes, kind="stable")
    word = np.empty(len(sizes), np.int64)
    word[order] = np.arange(len(sizes)) % words
    counts = np.maximum(sizes, 1).tolist()
    while any(_improve(counts, word, *two) for two in itertools.combinations(range(words), 2)):
        pass
    return word


def _improve(sizes: Sequence[int], word: np.ndarray, one: int, other: int) -> bool:
    """Whether moving a class between two words, or exchanging two, is better; then the first such thing is done."""
    here, there = (np.flatnonzero(word == number).tolist() for number in (one, other))
    value = worth([sizes[c] for c in here]) + worth([sizes[c] for c in there])
    for gone, come in itertools.product([None, *here], [None, *there]):
        left = [c for c in here if c != gone] + ([] if come is None else [come])
        right = [c for c in there if c != come] + ([] if gone is None else [gone])
        if worth([sizes[c] for c in left]) + worth([sizes[c] for c in right]) > value + 1e-9:
            word[left], word[right] = one, other
            return True
    return False


def worth(sizes: Sequence[int]) -> float:
    """The sum over classes that share a word of their expected AP: m relevant among t at one distance have
    (H_t + (m - 1) / (t - 1) (t - H_t)) / t, H the harmonic number."""
    count, t = len(sizes), sum(sizes)
    return (count * harmonic(t) + (t - count) / max(t - 1, 1) * (t - harmonic(t))) / max(t, 1)


@functools.cache
def harmonic(number: int) -> float:
    return float((1 / np.arange(1, number + 1)).sum())
