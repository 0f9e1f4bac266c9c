"""mini-cnn: its shape, its cache, and that the miniatures it serves rank plain methods as real data do."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark import evaluate, get_dataset, get_method
from benchmark.contracts import Split
from benchmark.deep import mini_cnn

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 32, 32, 3), dtype=np.uint8)


def test_trunk_and_last_make_the_whole() -> None:
    network = mini_cnn.build_mini_cnn().eval()
    trunk = network.trunk(mini_cnn.normalise(IMAGES))
    assert trunk.shape == (5, mini_cnn.TRUNK_DIMENSION)
    assert network.last(trunk).shape == (5, mini_cnn.DIMENSION)
    assert torch.equal(network.last(trunk), network(mini_cnn.normalise(IMAGES)))


def test_normalise_scales_and_reorders() -> None:
    tensor = mini_cnn.normalise(IMAGES)
    expected = (IMAGES[2, 7, 9] / 255 - np.array(mini_cnn.MEAN)) / np.array(mini_cnn.STD)
    assert tensor[2, :, 7, 9].numpy() == pytest.approx(expected, abs=1e-5)


def test_recipe_hash_costs_no_torch() -> None:
    code = "import sys; from benchmark.deep import mini_cnn; print(mini_cnn.RECIPE_HASH, 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [mini_cnn.RECIPE_HASH, "False"]


def test_auxiliary_targets_name_no_class_of_a_miniature_and_include_grey() -> None:
    _, targets = mini_cnn._auxiliary(600)
    assert targets.shape == (600, len(mini_cnn.WEIGHTS))
    assert (targets.mean(0) > 0).all()
    assert targets[:, 17].sum() > 10  # grey, the 81st class of nus-mini


def test_pretraining_repeats_itself_and_leaves_the_random_state_alone() -> None:
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    first, second = (mini_cnn.pretrain(canvases=192, epochs=1).state_dict() for _ in range(2))
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


def test_two_at_once_train_once_and_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path))
    trained, loaded = [], []

    def quick() -> torch.nn.Module:
        trained.append(mini_cnn.build_mini_cnn())
        return trained[-1]

    monkeypatch.setattr(mini_cnn, "pretrain", quick)
    threads = [threading.Thread(target=lambda: loaded.append(mini_cnn.load_mini_cnn())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(trained) == 1
    states = [network.state_dict() for network in (*loaded, *trained)]
    assert all(torch.equal(states[0][key], state[key]) for state in states[1:] for key in state)
    assert not loaded[0].training


def _penultimate(split: Split, network: torch.nn.Module) -> np.ndarray:
    with torch.no_grad():
        chunks = np.array_split(np.arange(len(split)), max(1, len(split) // 500))
        images = (np.stack([split.images[int(i)] for i in chunk]) for chunk in chunks)
        return np.concatenate([network(mini_cnn.normalise(part)).numpy() for part in images])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["imagenet-mini", "nus-mini", "coco-mini"])
def test_plain_methods_rank_as_on_real_data(name: str) -> None:
    """Random codes at chance < LSH; a plain classifier with the whole database above ITQ; all of it far below 1."""
    dataset = get_dataset(name)
    splits, network = dataset.load(), mini_cnn.load_mini_cnn()
    train, query, database = (part.with_features(_penultimate(part, network)) for part in splits.parts().values())

    def score(query_codes: np.ndarray, database_codes: np.ndarray) -> float:
        labels = query.labels, database.labels
        return float(evaluate(query_codes, database_codes, *labels, k=dataset.map_cutoff).map)

    rng = np.random.default_rng(0)
    chance = score(*(rng.choice(np.array([-1, 1], np.int8), (len(part), 64)) for part in (query, database)))
    lsh, itq = (
        score(method.encode(Split(features=query.features)), method.encode(Split(features=database.features)))
        for method in (get_method(m)(64, 0).fit(Split(features=train.features)) for m in ("lsh", "itq"))
    )
    classifier = score(*_classifier_codes(database, query, rng))
    assert chance + 0.1 < lsh < 0.9
    assert itq + 0.02 < classifier < 0.9


def _classifier_codes(database: Split, query: Split, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """64 random codes per class, mixed by the class probabilities of a logistic classifier of the whole database.

    Logistic, not least squares: hashed the same way, that one misses the margin on imagenet-mini and nus-mini.
    """
    mean = database.features.mean(0)
    inputs = [torch.nn.functional.normalize(torch.tensor(p.features - mean)) * 16 for p in (query, database)]
    single = (database.labels.sum(1) == 1).all()
    layer, labels = _logistic(inputs[1], torch.tensor(database.labels).float(), bool(single)), database.labels
    with torch.no_grad():
        query_share, share = (layer(x).softmax(1) if single else layer(x).sigmoid() for x in inputs)
    planes = rng.choice([-1.0, 1.0], (labels.shape[1], 64))
    codes = [np.where((p - share.mean(0)).numpy() @ planes > 0, 1, -1) for p in (query_share, share)]
    return codes[0].astype(np.int8), codes[1].astype(np.int8)


def _logistic(inputs: torch.Tensor, labels: torch.Tensor, single: bool) -> torch.nn.Linear:
    torch.manual_seed(0)
    layer = torch.nn.Linear(inputs.shape[1], labels.shape[1])
    torch.nn.init.zeros_(layer.weight)
    optimiser = torch.optim.Adam(layer.parameters(), 0.02)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 600)
    several = torch.nn.functional.binary_cross_entropy_with_logits
    for _ in range(600):
        rows = torch.randint(0, len(inputs), (512,))
        scores = layer(inputs[rows])
        loss = torch.nn.functional.cross_entropy(scores, labels[rows]) if single else 10 * several(scores, labels[rows])
        optimiser.zero_grad()
        (loss + 1e-4 * layer.weight.square().sum()).backward()
        optimiser.step()
        schedule.step()
    return layer
