"""What a deep hashing method is: a network, a draw of training rows, and a loss. Subclass to add one.

`PairwiseMethod` is all that a pairwise method needs: it supplies `loss(codes, similarity, step)`. `TripletMethod` is
the same for triplets, `StoredMethod` for pairs of a batch with the whole training set, `PointwiseMethod` for losses on
classes, `UnsupervisedMethod` for losses on features alone. `DeepMethod` is for methods that need their own sampler or
first stage. The loops live in `trainer.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from benchmark.contracts import Family, Input, MethodInfo, Needs, Split, parameter
from benchmark.deep import assembly, trainer
from benchmark.deep.centres import CENTRE_KINDS, CentreKind, class_centres, too_many_classes
from benchmark.deep.lazy import torch
from benchmark.deep.network_inputs import Rows
from benchmark.deep.pieces import Codes, PairBlock, PairGraph, StoredBatch, Triplets, counts_of
from benchmark.deep.profile import Training, load_profile
from benchmark.deep.samplers import ListedTriplets, PairStreams, Stream, TripletStreams
from benchmark.errors import UsageError
from benchmark.parameters import with_constructor
from benchmark.shallow.scaling import Mode

if TYPE_CHECKING:
    from benchmark.deep.network import HashNetwork


@with_constructor
class DeepMethod:
    """Fits a hash network by the method's own draw and objective; encodes by the sign of its outputs.

    Learns from similarity unless it says otherwise; `training` comes from the profile.
    """

    info: ClassVar[MethodInfo]
    family: ClassVar[Family] = "deep"
    input: ClassVar[Input] = "images"
    needs: ClassVar[Needs] = "similarity"
    adam_decay: ClassVar[float] = 1.0  # of the hash layer under Adam, against the profile's: by the size of outputs
    adam_rate: ClassVar[float] = 1.0  # under Adam, against the profile's: for outputs that have further to go
    bias_rate: ClassVar[float | None] = None  # of biases against the weights beside them; None: the profile's
    bits: int
    seed: int
    training: Training

    scaling: Mode = parameter("center-l2", doc="how features are scaled before the hash layer")

    def __post_init__(self) -> None:
        if self.training is None:
            self.training = load_profile("quick").training
        self.steps = self.training.steps  # of the training at hand; `fit` sets both anew, by the number of rows
        self.decay = self.training.weight_decay
        self.history: dict[str, list[Any]] = {}
        self.state: dict[str, torch.Tensor] = {}  # what the method keeps between steps, for the snapshot
        self.classifier: Any = None  # a torch module, trained and kept with the network, not part of encoding

    @property
    def sgd_rate(self) -> float:
        """Learning rate of plain gradient descent against the profile's, for a gradient of another size; Adam is blind
        to that."""
        return 1.0

    @property
    def logit_unit(self) -> float:
        """What released losses multiply <h_i, h_j> with before a sigmoid: 10/K; under Adam 10/sqrt(64 K).

        The two agree at 64 bits. With fewer, 10/K asks so much of each bit that short codes of many classes learn
        little; inner products of unlike codes spread by sqrt(K), and so does this. Chosen by cross-validation.
        """
        return 10 / self.bits if self.training.optimizer == "sgd" else 10 / (64 * self.bits) ** 0.5

    def head(self, dimension: int) -> torch.nn.Module:
        """The hash layer on top of `dimension` features: raw outputs u, (n, bits)."""
        from benchmark.deep.network import hash_layer

        return hash_layer(dimension, self.bits, self.training.deviation)

    def prepare(self, train: Split) -> None:
        """Look at what is known of the training rows before the first step."""
        raise NotImplementedError

    def look(self, network: HashNetwork, rows: Rows) -> None:
        """Look at what the network makes of the training rows before the first step."""

    def draw(self, step: int) -> tuple[np.ndarray, Any]:
        """The training rows of a step and what the objective needs to know of them (has `.to(device)`)."""
        raise NotImplementedError

    def objective(self, outputs: torch.Tensor, target: Any, step: int) -> torch.Tensor:
        """The loss of the drawn rows, given the network's raw outputs for them."""
        raise NotImplementedError

    @property
    def thread_limit(self) -> int | None:
        """One where only small layers are trained: faster there, and the same bits on every machine."""
        return 1 if trainer.only_small_layers(self.training) else None

    def fit(self, train: Split) -> Self:
        """Train on the rows of `train` and what it says of them."""
        self.steps, self.decay = self.training.steps_for(len(train)), self.training.decay_for(len(train))
        with trainer.private_randomness(self.training, "weights", self.seed):
            assembled, rows = assembly.assemble(self, train)
            self.prepare(train)
            self.look(assembled.network, rows)
            if self.classifier is not None:
                assembled.network.classifier = self.classifier
            self.history = trainer.train(self, assembled.network, rows)
        self._assembly = assembled
        return self

    def encode(self, split: Split) -> np.ndarray:
        """(n, bits) int8 codes over {-1, +1}."""
        return trainer.encode(self._assembly.encoder(), self._assembly.rows(split), self.training, self.bits)


class PairwiseMethod(DeepMethod):
    """A method that learns from blocks of pairs: supply `loss`, and it is done."""

    graded: ClassVar[bool] = False  # s_ij is the cosine of two label vectors, not 0 or 1; needs="labels"

    @property
    def self_pairs(self) -> bool:
        """Whether an image that both streams drew makes a pair with itself."""
        return self.training.self_pairs

    def loss(self, codes: Codes, similarity: PairBlock, step: int) -> torch.Tensor:
        """The loss of all pairs between the two streams of a batch."""
        raise NotImplementedError

    def prepare(self, train: Split) -> None:
        similarity = train.required_similarity()
        self._graph = PairGraph(similarity, self.self_pairs, train.required_labels() if self.graded else None)
        self._streams = PairStreams(similarity, self.training.batch, self.seed)

    def draw(self, step: int) -> tuple[np.ndarray, PairBlock]:
        rows, columns = self._streams.draw(step)
        return np.concatenate([rows, columns]), self._graph.block(rows, columns)

    def objective(self, outputs: torch.Tensor, target: PairBlock, step: int) -> torch.Tensor:
        return self.loss(Codes(outputs, len(target.similar)), target, step)


class StoredMethod(DeepMethod):
    """A method that learns from the pairs of a batch with the whole training set, whose latest outputs are stored and
    constant: supply `loss`. A row that no batch has held yet is stored as 0."""

    batch: int = parameter(128, least=1, doc="of the single stream; 128 in the released code")

    def loss(self, outputs: torch.Tensor, stored: torch.Tensor, batch: StoredBatch, step: int) -> torch.Tensor:
        """The loss of all pairs of a row of the batch, whose outputs are stored already, and a training row."""
        raise NotImplementedError

    def prepare(self, train: Split) -> None:
        similarity = train.required_similarity()
        self._graph = PairGraph(similarity, self.training.self_pairs)
        self._stream = Stream(len(similarity), self.batch, self.seed)
        self.state = {"stored": torch.zeros(len(similarity), self.bits)}

    def draw(self, step: int) -> tuple[np.ndarray, StoredBatch]:
        items = self._stream.draw(step)
        return items, StoredBatch(torch.from_numpy(items), self._graph.block(items, np.arange(len(self._graph))))

    def objective(self, outputs: torch.Tensor, target: StoredBatch, step: int) -> torch.Tensor:
        stored = self.state["stored"]
        stored[target.items] = outputs.detach().to(stored.dtype)
        return self.loss(outputs, stored.to(outputs.dtype), target, step)


class TripletMethod(DeepMethod):
    """A method that learns from triplets, i more like j than like k: supply `loss`, and it is done."""

    needs: ClassVar[Needs] = "triplets"

    triplets: int = parameter(2048, least=1, doc="most of them in a batch")

    def loss(self, codes: Codes, triplets: Triplets, step: int) -> torch.Tensor:
        """The loss of the triplets that were drawn between the two streams of a batch."""
        raise NotImplementedError

    def triplet_source(self, train: Split) -> TripletStreams | ListedTriplets:
        """Where triplets come from: a list of them where there is one, else drawn from pairs."""
        sizes = self.training.batch, self.triplets, self.seed
        if train.triplets is not None:
            return ListedTriplets(train.triplets, *sizes)
        return TripletStreams(train.required_similarity(), *sizes)

    def prepare(self, train: Split) -> None:
        self._source = self.triplet_source(train)
        self._degrees = counts_of(self._source.degrees())

    def draw(self, step: int) -> tuple[np.ndarray, Triplets]:
        rows, columns, places = self._source.draw(step)
        degrees = self._degrees.take(rows), self._degrees.take(columns)
        return np.concatenate([rows, columns]), Triplets(len(rows), torch.from_numpy(places), *degrees)

    def objective(self, outputs: torch.Tensor, target: Triplets, step: int) -> torch.Tensor:
        return self.loss(Codes(outputs, target.size), target, step)


class PointwiseMethod(DeepMethod):
    """A method that learns from class labels: supply `loss`, and perhaps what it compares the outputs with.

    Rows without a label are never drawn. A batch is one stream of twice the profile's `batch` rows, as many images
    as a pairwise method sees.
    """

    needs: ClassVar[Needs] = "labels"
    class_sizes: torch.Tensor  # (classes,) training rows of each class, from `fit` on, before the two below are made
    labelled_rows: int  # of training rows
    multi_label: bool  # whether one of them has more than one label

    def loss(self, outputs: torch.Tensor, labels: torch.Tensor, step: int) -> torch.Tensor:
        """The loss of a batch: raw outputs u, (n, bits), and multi-hot labels, (n, classes) of 0.0 and 1.0."""
        raise NotImplementedError

    def make_centres(self, classes: int) -> torch.Tensor | None:
        """Fixed targets of the classes; afterwards `self.centres`."""
        return None

    def make_classifier(self, classes: int) -> torch.nn.Module | None:
        """What is trained beside the network, at the hash layer's rate; afterwards `self.classifier`."""
        return None

    @property
    def centres(self) -> torch.Tensor:
        return self.state["centres"]

    def prepare(self, train: Split) -> None:
        labels = train.required_labels()
        self._labels = torch.from_numpy(labels.astype(np.float32))
        self._labelled = np.flatnonzero(labels.any(axis=1))
        self._stream = Stream(len(self._labelled), 2 * self.training.batch, self.seed)
        self.class_sizes = torch.from_numpy(labels.sum(axis=0).astype(np.float32))
        self.labelled_rows = len(self._labelled)
        self.multi_label = bool((labels.sum(axis=1) > 1).any())
        self.classifier = self.make_classifier(labels.shape[1])
        centres = self.make_centres(labels.shape[1])
        if centres is not None and not isinstance(centres, torch.Tensor):
            what = f"make_centres returned a {type(centres).__name__}"
            raise UsageError(f"{self.info.name}: {what}, expected a torch tensor, such as (classes, bits)")
        self.state = {} if centres is None else {"centres": centres}

    def draw(self, step: int) -> tuple[np.ndarray, torch.Tensor]:
        items = self._labelled[self._stream.draw(step)]
        return items, self._labels[torch.from_numpy(items)]

    def objective(self, outputs: torch.Tensor, target: torch.Tensor, step: int) -> torch.Tensor:
        return self.loss(outputs, target, step)


class CentredMethod(PointwiseMethod):
    """A method that pulls each class to a fixed code of its own: row c of `self.centres` is that of class c."""

    centre_kind: CentreKind = parameter(
        "bernoulli", search=CENTRE_KINDS, doc="of class codes: coins, a Hadamard matrix, or random words kept far apart"
    )
    unsupported = staticmethod(too_many_classes)

    def make_centres(self, classes: int) -> torch.Tensor:
        return torch.from_numpy(class_centres(self.centre_kind, classes, self.bits, self.seed))


class UnsupervisedMethod(DeepMethod):
    """A method that learns from features alone: supply `loss`.

    A batch is one stream of twice the profile's `batch` rows, as many images as a pairwise method sees. With `views` of
    2 it is half as many rows, twice in a row: where the network has dropout or images are augmented, each time others.
    """

    needs: ClassVar[Needs] = "nothing"
    views: ClassVar[int] = 1

    def loss(self, outputs: torch.Tensor, features: torch.Tensor, step: int) -> torch.Tensor:
        """The loss of a batch: raw outputs u, (n, bits), and what the hash layer saw of these rows before the first
        step, (n, d): their scaled features, constant even where the layers below are trained."""
        raise NotImplementedError

    def prepare(self, train: Split) -> None:
        self._stream = Stream(len(train), 2 * self.training.batch // self.views, self.seed)

    def look(self, network: HashNetwork, rows: Rows) -> None:
        seen = torch.nn.Sequential(network.body, network.scale)
        self._features = torch.from_numpy(trainer.outputs(seen, rows, self.training))

    def draw(self, step: int) -> tuple[np.ndarray, torch.Tensor]:
        items = np.tile(self._stream.draw(step), self.views)
        return items, self._features[torch.from_numpy(items)]

    def objective(self, outputs: torch.Tensor, target: torch.Tensor, step: int) -> torch.Tensor:
        return self.loss(outputs, target, step)
