"""Which training rows meet in which step. Every draw is a function of the seed and the step alone.

So a resumed training, or one whose batches are made by worker processes, sees exactly the same batches. What is
done with a batch lives in `method.py`.
"""

from __future__ import annotations

import numpy as np

from benchmark.errors import UsageError
from benchmark.seeds import generator
from benchmark.similarity import Degrees, PairSimilarity, Similarity, TripletList


class Stream:
    """An endless shuffled stream of `size` rows, cut into batches: every row once before any row twice."""

    def __init__(self, size: int, batch: int, *seed: object) -> None:
        if size < 1:
            raise UsageError("training: no rows, expected at least one")
        self.size, self.batch, self._seed = size, min(batch, size), seed
        self._shuffled: dict[int, np.ndarray] = {}  # the latest epochs

    def _epoch(self, epoch: int) -> np.ndarray:
        if epoch not in self._shuffled:
            self._shuffled = {key: rows for key, rows in self._shuffled.items() if key == epoch - 1}
            self._shuffled[epoch] = generator("stream", *self._seed, epoch).permutation(self.size)
        return self._shuffled[epoch]

    def draw(self, step: int) -> np.ndarray:
        """The rows of batch number `step`."""
        epoch, start = divmod(step * self.batch, self.size)
        rows = self._epoch(epoch)[start : start + self.batch]
        if len(rows) == self.batch:
            return rows
        return np.concatenate([rows, self._epoch(epoch + 1)[: self.batch - len(rows)]])


class PairStreams:
    """Rows and columns of the blocks of pairs that pairwise losses see.

    Where every pair is known: two independent streams of training rows. From an explicit list of pairs, of which
    two independent streams would hardly meet any: a stream of listed pairs, whose first members are the rows and
    whose second members are the columns, in random orientation. All known pairs inside the block then count.
    """

    def __init__(self, similarity: Similarity, batch: int, seed: int) -> None:
        self._pairs = similarity.pairs if isinstance(similarity, PairSimilarity) else None
        self._seed = seed
        if self._pairs is None:
            self._rows = Stream(len(similarity), batch, seed, "rows")
            self._columns = Stream(len(similarity), batch, seed, "columns")
        elif len(self._pairs):
            self._rows = Stream(len(self._pairs), batch, seed, "pairs")
        else:
            raise UsageError("training: the pair list is empty, expected at least one known pair")

    def draw(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """(rows, columns) of batch number `step`."""
        if self._pairs is None:
            return self._rows.draw(step), self._columns.draw(step)
        pairs = self._pairs[self._rows.draw(step)]
        turn = generator("turn", self._seed, step).random(len(pairs)) < 0.5
        return np.where(turn, pairs[:, 1], pairs[:, 0]), np.where(turn, pairs[:, 0], pairs[:, 1])


def triplets(
    similar: np.ndarray, known: np.ndarray, limit: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(row, similar column, dissimilar column): at most `limit` of a block's similar pairs, a random third to each.

    Rows that lack a similar or a dissimilar partner give no triplet.
    """
    negative = known & ~similar
    choices = negative.sum(axis=1)
    rows, positives = np.nonzero(similar & known & (choices > 0)[:, None])
    if len(rows) > limit:
        chosen = random.choice(len(rows), limit, replace=False)
        rows, positives = rows[chosen], positives[chosen]
    negatives = np.nonzero(negative)[1]  # row after row
    first = np.cumsum(choices) - choices
    place = first[rows] + (random.random(len(rows)) * choices[rows]).astype(np.int64)
    return rows, positives, negatives[place]


class TripletStreams:
    """Triplets inside the blocks of pairs that pairwise losses see, at most `limit` in a step.

    What else offers `draw` and `degrees` can stand in its place, as `ListedTriplets` does.
    """

    def __init__(self, similarity: Similarity, batch: int, limit: int, seed: int) -> None:
        self._similarity, self._limit, self._seed = similarity, limit, seed
        self._streams = PairStreams(similarity, batch, seed)

    def draw(self, step: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(rows, columns, places) of batch number `step`: which training rows are the rows and the columns of its
        block, and where in it the triplets lie, (3, triplets): a row, a similar column, a dissimilar column."""
        rows, columns = self._streams.draw(step)
        similar, known = self._similarity.block(rows, columns)
        known = known & (rows[:, None] != columns[None, :])
        places = np.stack(triplets(similar, known, self._limit, generator("triplets", self._seed, step)))
        return rows, columns, places

    def degrees(self) -> Degrees:
        """|S_i|, |S_i^1| and |S_i^0| of each training row."""
        return self._similarity.degrees()


class ListedTriplets:
    """Triplets of an explicit list: a stream of `batch` of them, whose first members are the rows of the block and
    whose others are its columns. All listed triplets inside the block then count, at most `limit`."""

    def __init__(self, listed: TripletList, batch: int, limit: int, seed: int) -> None:
        if not len(listed.triplets):
            raise UsageError("training: the triplet list is empty, expected at least one triplet")
        self._listed, self._limit, self._seed = listed, limit, seed
        self._triplets = listed.triplets[np.argsort(listed.triplets[:, 0], kind="stable")]
        self._first = np.searchsorted(self._triplets[:, 0], np.arange(len(listed) + 1))  # of an anchor
        self._stream = Stream(len(self._triplets), batch, seed, "triplets")

    def draw(self, step: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `TripletStreams.draw`."""
        drawn = self._triplets[self._stream.draw(step)]
        rows, columns = np.unique(drawn[:, 0]), np.unique(drawn[:, 1:])
        told = np.concatenate([self._triplets[self._first[row] : self._first[row + 1]] for row in rows])
        place = np.full(len(self._listed), -1)
        place[columns] = np.arange(len(columns))
        places = np.stack([np.searchsorted(rows, told[:, 0]), place[told[:, 1]], place[told[:, 2]]])
        places = places[:, (places >= 0).all(axis=0)]
        if places.shape[1] > self._limit:
            random = generator("listed", self._seed, step)
            places = places[:, random.choice(places.shape[1], self._limit, replace=False)]
        return rows, columns, places

    def degrees(self) -> Degrees:
        """Of pairs ij as S^1 and of pairs ik as S^0."""
        return self._listed.degrees()
