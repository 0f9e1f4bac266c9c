"""Profiles are data: what ships is sound, and a wrong one is refused in one line."""

from __future__ import annotations

import json
import os
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
    assert (training.train, training.optimizer, training.schedule) == ("all", "sgd", "stages")
    assert (training.steps, training.batch, training.decay, training.decay_every) == (10_000, 256, 0.5, 2000)
    assert (training.momentum, training.weight_decay, training.augment) == (0.9, 5e-4, True)
    assert (training.hash_rate, training.hash_rate * training.bias_rate, training.deviation) == (10, 20, 0.01)


def test_cpu_trains_everything_at_a_size_that_needs_no_gpu() -> None:
    profile = load_profile("cpu")
    training = profile.training
    assert (profile.name, training.train, training.augment) == ("cpu", "all", True)
    assert (training.batch, training.crop) == (64, 64)
    assert training.steps_for(10**6) == training.steps <= 500  # more rows do not make it longer


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
        ('[training]\noptimizer = "lion"', "expected one of sgd, adam"),
        ('[training]\nschedule = "linear"', "expected one of stages, cosine"),
        ("[training]\nwarmup = 1", "warmup = 1.0, expected less than 1"),
        ("training = 5", "expected a table"),
        ("[[training]]\nsteps = 5", "expected a table"),
        ("[training]\nlearning_rate = nan", "learning_rate = nan, expected 0 to"),
        ("[training]\nlearning_rate = inf", "learning_rate = inf, expected 0 to"),
        ("[training]\nlearning_rate = 1e400", "learning_rate = inf"),
        (f"[training]\nlearning_rate = 1{'0' * 400}", "that a float can hold"),
        (f"[training]\nsteps = 1{'0' * 400}", "expected 1 to"),
        ("[training]\nweight_decay = -1", "weight_decay = -1.0, expected 0 or more"),
        ("[training]\nmomentum = 1", "expected less than 1"),
        ("[training]\nresize = 32\ncrop = 64", "crop = 64, expected at most resize"),
        ('[training]\ndevice = "tpu"', "device = 'tpu'"),
        ('[training]\nbackbone = "alexnet"', "backbone is chosen by --backbone"),
        ('[training]\nweights = "w.pth"', "weights is chosen by --weights"),
    ],
)
def test_a_wrong_profile_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        load_profile(file)


@pytest.mark.parametrize("content", [b'[training]\ntrain = "\xff"', "[training]".encode("utf-16"), b"\0"])
def test_a_profile_that_is_no_text(tmp_path: Path, content: bytes) -> None:
    """E: not UTF-8."""
    (tmp_path / "wrong.toml").write_bytes(content)
    with pytest.raises(UsageError, match=r"wrong\.toml: not TOML"):
        load_profile(tmp_path / "wrong.toml")


@pytest.mark.parametrize("name", ["", ".", "n" * 5000, "/proc/self/mem", "pipe"])
def test_a_profile_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """E: OSErrors; a pipe must not be waited for."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with pytest.raises(UsageError, match="profile"):
        load_profile(name)


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
