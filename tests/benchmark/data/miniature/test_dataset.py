"""The class of the miniatures: named as such, known without drawing, 32 x 32 pictures."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from benchmark import UsageError, get_dataset
from benchmark.contracts import Splits
from benchmark.data.miniature import Miniature

NAMES = ("imagenet-mini", "nus-mini", "coco-mini")


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def splits(name: str) -> Splits:
    return get_dataset(name).load()


def test_is_named_a_miniature(name: str) -> None:
    dataset = get_dataset(name)
    assert (dataset.name, dataset.miniature, dataset.backbone) == (name, True, "mini-cnn")
    assert "miniature" in dataset.title
    dataset.check()


def test_attributes_cost_no_import_and_no_rendering() -> None:
    code = (
        "import sys; from benchmark import get_dataset\n"
        f"print([get_dataset(n).revision for n in {NAMES}])\n"
        "assert not {'sklearn', 'torch', 'scipy'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str([get_dataset(n).revision for n in NAMES])


def test_images_are_small_colour_pictures(splits: Splits) -> None:
    for part in splits.parts().values():
        image = part.images[len(part) - 1]
        assert image.shape == (32, 32, 3)
        assert image.dtype == np.uint8
        with pytest.raises(IndexError):
            part.images[len(part)]


def test_another_protocol_or_name_is_another_revision() -> None:
    plain = get_dataset("coco-mini")
    assert isinstance(plain, Miniature)
    rows = type(plain).rows
    changed = type("Changed", (type(plain),), {"rows": type(rows)(**(vars(rows) | {"decay": 0.6}))})
    named = type("Named", (type(plain),), {})()
    named.name = "other"
    assert len({plain.revision, changed().revision, named.revision}) == 3
    assert type("Same", (type(plain),), {})().revision == plain.revision


def training_sizes(splits: Splits) -> np.ndarray:
    return np.asarray(splits.train.labels).sum(axis=0)


def test_its_own_skew_by_name_is_what_it_is_without() -> None:
    plain, named = get_dataset("imagenet-mini"), get_dataset("imagenet-mini", imbalance="paper")
    assert (plain.revision, plain.protocol, plain.title) == (named.revision, named.protocol, named.title)
    assert plain.protocol == "miniature"


@pytest.mark.parametrize(("imbalance", "ratio"), [("balanced", 31 / 30), ("exponential:10", 10)])
def test_another_imbalance_trains_on_other_rows_of_the_same_database(imbalance: str, ratio: float) -> None:
    plain, other = get_dataset("imagenet-mini"), get_dataset("imagenet-mini", imbalance=imbalance)
    assert len({plain.revision, other.revision, get_dataset("imagenet-mini", imbalance="groups").revision}) == 3
    assert plain.protocol != other.protocol
    assert plain.title in other.title
    mine, its = plain.load(), other.load()
    for part in ("query", "database"):
        assert list(mine.parts()[part].ids) == list(its.parts()[part].ids)
    assert (mine.database.images[7] == its.database.images[7]).all()
    assert set(its.train.ids) <= set(its.database.ids)
    assert len(set(its.train.ids)) == len(its.train) == len(mine.train)
    sizes = training_sizes(its)
    assert sizes.max() / sizes.min() == pytest.approx(ratio, rel=0.05)


@pytest.mark.parametrize("value", ["steep", "exponential:0", "", 3, None, ["balanced"]])
def test_an_imbalance_that_nobody_knows_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match="imbalance"):
        get_dataset("imagenet-mini", imbalance=value).check()
