"""Values of --option: what a data set can use, or one line. E: NaN, infinity, negative and huge ones reached numpy."""

import math

import numpy as np
import pytest

from benchmark.data.option_values import cut_off, whole_number, word, yes_or_no
from benchmark.errors import UsageError
from benchmark.registry import get_dataset


@pytest.mark.parametrize(("given", "meant"), [(3, 3), (3.0, 3), (0, 0), (10**9, 10**9)])
def test_whole_numbers(given, meant):
    found = whole_number("x.y", given)
    assert found == meant
    assert type(found) is int


BAD = [math.nan, math.inf, -math.inf, -1, 10**10, 1e400, 2.5, "3", "", None, True, [1], {}]


@pytest.mark.parametrize("given", BAD)
def test_what_is_no_whole_number_is_one_line(given):
    with pytest.raises(UsageError, match=r"^x\.y=.*: expected a whole number from 0 to 1,000,000,000$"):
        whole_number("x.y", given)


def test_switches_and_words():
    assert yes_or_no("x.y", False) is False
    for given in (0, 1, "true", None, math.nan):
        with pytest.raises(UsageError, match="expected true or false"):
            yes_or_no("x.y", given)
    assert word("x.y", "a", "a", "b") == "a"
    for given in ("c", 1, None, ["a"]):
        with pytest.raises(UsageError, match="expected a or b"):
            word("x.y", given, "a", "b")


def test_a_cut_off_is_a_number_or_all():
    assert [cut_off("x.y", given) for given in ("all", 0, 5, 5.0)] == [0, 0, 5, 5]
    for given in ("some", -1, 1.5, True, None, math.nan):
        with pytest.raises(UsageError, match=r"x\.y=.*: expected a whole number from 0 to 1,000,000,000, or all"):
            cut_off("x.y", given)


NUMBERS = {
    "folder": ("queries_per_class", "train_size", "map_cutoff", "split_seed"),
    "lists": ("map_cutoff",),
    "pairs": ("map_cutoff",),
    "cifar10": ("queries_per_class", "train_size", "map_cutoff", "split_seed"),
    "cifar100": ("queries_per_class", "train_size", "map_cutoff", "split_seed"),
    "cifar100-lt": ("imbalance_factor", "map_cutoff", "split_seed"),
    "coco": ("queries_per_class", "train_size", "split_seed"),
    "nus": ("queries_per_class", "train_size", "map_cutoff", "split_seed"),
    "nus21": ("queries_per_class", "train_per_class", "split_seed"),
    "mirflickr": ("queries", "train_size", "map_cutoff", "split_seed"),
    "voc2012": ("queries", "train_size", "split_seed"),
    "torchvision": ("queries_per_class", "train_size", "map_cutoff", "split_seed"),
    "imagenet": ("train_size", "map_cutoff", "split_seed"),
    "imagenet-lt": ("imbalance_factor", "map_cutoff", "split_seed"),
    "imagenet-balanced": ("train_size", "split_seed"),
}


@pytest.mark.parametrize(("name", "option"), [(name, option) for name in NUMBERS for option in NUMBERS[name]])
def test_every_data_set_checks_its_numbers(tmp_path, name, option):
    for part in ("train", "query", "database"):
        (tmp_path / f"{part}.txt").write_text("a.jpg 1\n")
    np.savez(tmp_path / "p.npz", a=1)
    spec = {"folder": f"folder:{tmp_path}", "lists": f"lists:{tmp_path}", "pairs": f"pairs:{tmp_path / 'p.npz'}"}
    spec["torchvision"] = "torchvision:MNIST"
    for value in (math.nan, math.inf, -1, 10**12, "many", 1.5, True):
        with pytest.raises(UsageError, match=rf"^{name}\.{option}=.*: expected a whole number"):
            get_dataset(spec.get(name, name), tmp_path, **{option: value})


@pytest.mark.parametrize("name", ["coco", "nus", "imagenet", "imagenet-balanced"])
def test_every_data_set_checks_its_switches(tmp_path, name):
    for option in ("skip_broken", "drop_overlap"):
        with pytest.raises(UsageError, match=rf"^{name}\.{option}='maybe': expected true or false"):
            get_dataset(name, tmp_path, **{option: "maybe"})
