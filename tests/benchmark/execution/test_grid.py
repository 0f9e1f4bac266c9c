"""What was asked for -> a grid: names, numbers and values are checked, and one thing in two spellings is one cell."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark import UsageError
from benchmark.execution.grid import Cell, cells, changed_parameters, choose_datasets, make_grid
from benchmark.registry import get_method, load_plugin


def grid_cells(tiny: Path, methods: list[str], bits: Any = (8,), seeds: Any = (0,), **more: Any) -> list[Cell]:
    return cells(make_grid(choose_datasets([f"features:{tiny}"]), methods, bits, seeds, "quick", **more))


def changed(method: str, **params: Any) -> dict[str, Any]:
    return changed_parameters(get_method(method).info, params)


def test_a_default_in_any_spelling_is_no_change() -> None:
    """A7: `1` and `1.0` were two cells."""
    assert changed("itq", iterations=50) == changed("itq", iterations=50.0) == {}
    found = changed("dph", gamma=1)
    assert found == {"gamma": 1.0}
    assert isinstance(found["gamma"], float)
    assert isinstance(changed("itq", iterations=10.0)["iterations"], int)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, "many", True, None, [1], {"a": 1}, "5", 1.5])
def test_values_of_another_type_are_refused(value: Any) -> None:
    """A7: NaN and words reached torch."""
    with pytest.raises(UsageError, match="iterations"):
        changed("itq", iterations=value)


@pytest.mark.parametrize("value", [math.nan, math.inf, 0, -1, "fast", None, True, 10**400])
def test_a_learning_rate_is_a_number_above_zero(value: Any) -> None:
    with pytest.raises(UsageError, match="learning_rate"):
        changed("dph", learning_rate=value)
    assert changed("dph", learning_rate=1) == {"learning_rate": 1.0}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"params": {"dph": {"gamma": 1}}}, "not among --methods"),
        ({"params": {"dhp": {"gamma": 1}}}, "unknown method 'dhp'"),
        ({"params": {"itq": {"rounds": 1}}}, "no parameter 'rounds'"),
        ({"params": {"itq": {"iterations": math.nan}}}, "iterations"),
        ({"sweep": ("dph", "gamma", [1])}, "not among --methods"),
        ({"sweep": ("itq", "iterations", [1, math.inf])}, "iterations"),
        ({"bits": [513]}, "bits: 513, expected whole numbers from 1 to 512"),
        ({"bits": [0]}, "bits: 0"),
        ({"bits": [True]}, "bits: True"),
        ({"bits": [8.0]}, "bits: 8.0"),
        ({"seeds": [-1]}, "seeds: -1"),
        ({"seeds": [10**30]}, "seeds: 1000"),
    ],
)
def test_what_no_cell_could_use_is_refused_before_there_are_cells(tiny: Path, more: Any, told: str) -> None:
    """A7, E: settings of other methods were ignored, and 513 bits failed cell by cell."""
    choices = choose_datasets([f"features:{tiny}"])
    given = {"bits": [8], "seeds": [0]} | more
    with pytest.raises(UsageError, match=told):
        make_grid(choices, ["itq"], given.pop("bits"), given.pop("seeds"), "quick", **given)


def test_what_is_said_twice_is_run_once(tiny: Path) -> None:
    assert len(grid_cells(tiny, ["lsh", "lsh"], [8, 8, 16], [0, 0])) == 2
    assert [one.bits for one in grid_cells(tiny, ["lsh"], np.array([16, 8]))] == [16, 8]
    assert len(grid_cells(tiny, ["itq"], sweep=("itq", "iterations", [10, 10.0, 50]))) == 2


@pytest.mark.parametrize("kind", ["features", "lists", "folder", "pairs"])
@pytest.mark.parametrize("argument", ["", "loop", "n" * 5000])
def test_paths_that_lead_nowhere_are_told(
    kind: str, argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E: a link to itself, too long a name, no name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UsageError, match=argument[:50] or f"{kind}:"):
        choose_datasets([f"{kind}:{argument}"])


def test_a_data_root_that_cannot_be_looked_at() -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        choose_datasets(["coco"], data_root=Path("n" * 5000))


def test_an_empty_backbone_is_no_wish_for_the_default(tiny: Path) -> None:
    with pytest.raises(UsageError, match="--backbone ''"):
        choose_datasets([f"features:{tiny}"], backbone="")


@pytest.mark.parametrize("empty", ["datasets", "methods", "bits", "seeds"])
def test_a_grid_of_nothing_is_a_mistake(tiny: Path, empty: str) -> None:
    """A2: from Python it ran, and its results were all that others had left in the folder."""
    given: dict[str, Any] = {"datasets": choose_datasets([f"features:{tiny}"]), "methods": ["itq"], "bits": [8]}
    given |= {"seeds": [0], empty: []}
    with pytest.raises(UsageError, match=f"^{empty}: none given, expected at least one$"):
        make_grid(*given.values(), "quick")


def test_cells_on_data_sets_of_one_name_are_told_apart_by_everything_but_their_keys(tiny: Path, tmp_path: Path) -> None:
    """A2: a run printed two lines of one label, and nobody could say which number was whose."""
    paths = [tmp_path / folder / "feats.npz" for folder in "ab"]
    for path in paths:
        path.parent.mkdir()
        shutil.copyfile(tiny, path)
    both, alone = choose_datasets([f"features:{path}" for path in paths]), choose_datasets([f"features:{paths[0]}"])
    found = cells(make_grid(both, ["itq"], [8], [0], "quick"))
    assert [cell.label for cell in found] == ["itq a/feats 8 bits seed 0", "itq b/feats 8 bits seed 0"]
    (single,) = cells(make_grid(alone, ["itq"], [8], [0], "quick"))
    assert single.label == "itq feats 8 bits seed 0"
    assert single.parts == found[0].parts  # who else is in a run changes no key


def swept(values: list[Any], *datasets: str) -> list[Cell]:
    choices = choose_datasets(datasets or ["imagenet"])
    return cells(make_grid(choices, ["lsh", "itq"], [8], [0], "quick", sweep=("imagenet", "imbalance", values)))


def test_a_swept_data_set_is_several_and_every_method_runs_on_each() -> None:
    found = swept(["balanced", "exponential:10", "balanced"])
    assert [cell.label for cell in found] == [
        f"{method} imagenet-mini{value} 8 bits seed 0"
        for value in (" imbalance=balanced", " imbalance=exponential:10", "")
        for method in ("lsh", "itq")
    ]
    assert len({cell.identity["protocol"] for cell in found}) == 3
    assert len({cell.parts["dataset"]["revision"] for cell in found}) == 3
    assert [dict(cell.asked["options"]) for cell in found[::2]] == [
        {"imbalance": "balanced"}, {"imbalance": "exponential:10"}, {},
    ]  # fmt: skip


def test_a_value_that_is_the_default_is_the_data_set_as_it_is() -> None:
    plain = cells(make_grid(choose_datasets(["imagenet"]), ["lsh", "itq"], [8], [0], "quick"))
    both = swept(["balanced", "paper"])
    assert [one.parts for one in both[2:]] == [one.parts for one in plain]
    assert [one.asked for one in both[2:]] == [one.asked for one in plain]


def test_other_data_sets_of_the_run_stay_as_they_are() -> None:
    labels = [cell.choice.label for cell in swept(["balanced"], "imagenet", "nus")]
    assert labels[::2] == ["imagenet-mini imbalance=balanced", "imagenet-mini", "nus-mini"]


@pytest.mark.parametrize(
    ("sweep", "told"),
    [
        (("nus", "imbalance", ["paper"]), "'nus' is not among --datasets"),
        (("imagenet", "skew", ["paper"]), "imagenet.skew paper: dataset 'imagenet' has no parameter 'skew'"),
        (("imagenet", "imbalance", ["paper", "steep"]), "imagenet.imbalance steep: .*expected paper"),
        (("imagenet", "imbalance", [3]), "expected a word"),
    ],
)
def test_a_sweep_that_a_data_set_refuses_is_told_before_there_are_cells(sweep: Any, told: str) -> None:
    with pytest.raises(UsageError, match=f"--sweep .*{told}"):
        make_grid(choose_datasets(["imagenet"]), ["lsh"], [8], [0], "quick", sweep=sweep)


def test_variations_that_their_protocol_does_not_name_are_cells_of_their_own(tmp_path: Path) -> None:
    """A data set of somebody's need not say in its protocol what it was asked for with."""
    file = tmp_path / "silent.py"
    file.write_text(
        "import numpy as np\nfrom benchmark import Split, Splits, register_dataset\n"
        "@register_dataset('silent', title='Silent')\n"
        "class Silent:\n"
        "    name, title, protocol, map_cutoff, miniature, backbone = 'silent', 'Silent', 'made', 5, False, None\n"
        "    def __init__(self, argument=None, data_root=None, *, width=4):\n        self.width = width\n"
        "    revision = property(lambda self: f'width {self.width}')\n"
        "    def check(self):\n        pass\n"
        "    def load(self):\n        raise NotImplementedError\n"
    )
    load_plugin(file)
    grid = make_grid(choose_datasets(["silent"]), ["lsh"], [8], [0], "quick", sweep=("silent", "width", [4, 8, 16]))
    assert sorted(cell.parts["dataset"]["revision"] for cell in cells(grid)) == ["width 16", "width 4", "width 8"]
