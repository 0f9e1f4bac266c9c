"""Profiles are data: what ships is sound, and a wrong one is refused in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark import UsageError
from benchmark.deep import Training, load_profile


def test_quick_trains_the_last_layers_for_seconds() -> None:
    quick = load_profile("quick")
    assert (quick.name, quick.training.train) == ("quick", "last")


def test_paper_has_the_schedule_of_the_paper() -> None:
    training = load_profile("paper").training
    assert training.train == "all"
    assert (training.steps, training.batch, training.decay, training.decay_every) == (10_000, 256, 0.5, 2000)
    assert (training.momentum, training.weight_decay, training.augment) == (0.9, 5e-4, True)
    assert (training.hash_rate, training.hash_rate * training.bias_rate, training.deviation) == (10, 20, 0.01)


def test_a_profile_is_plain_data_and_place_is_no_part_of_it(tmp_path: Path) -> None:
    profile = load_profile("quick")
    assert json.loads(json.dumps(profile.as_dict())) == profile.as_dict()
    assert Training(num_workers=3, checkpoint="x").identity() == Training().identity()
    assert Training(steps=3).identity() != Training().identity()


def test_a_copied_and_edited_profile(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[training]\ntrain = "hash"\nlearning_rate = 1\n')
    profile = load_profile(file)
    assert (profile.name, profile.training.train, profile.training.learning_rate) == ("mine", "hash", 1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[training", "not TOML"),
        ("[trainng]\nsteps = 3", "unknown table or key 'trainng'"),
        ("[training]\nstep = 3", "unknown key 'step'"),
        ('[training]\nsteps = "many"', "steps = 'many', expected int"),
        ("[training]\nsteps = true", "steps = True, expected int"),
        ("[training]\nsteps = 0", "steps = 0, expected 1 or more"),
        ('[training]\ntrain = "some"', "expected one of hash, last, all"),
    ],
)
def test_a_wrong_profile_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        load_profile(file)


def test_an_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="paper, quick"):
        load_profile("quik")


def test_planning_a_deep_cell_costs_no_torch() -> None:
    program = (
        "import sys; from benchmark import get_method; from benchmark.deep import load_profile;"
        "load_profile('quick'); [get_method(name) for name in ('dph', 'dpsh', 'cnnh', 'dnnh')];"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
