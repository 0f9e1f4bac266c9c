"""Settings that tune chose: read, merged, looked up by method, data, training and length."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from benchmark import UsageError
from benchmark.deep.profile import load_profile
from benchmark.execution.grid import training_id
from benchmark.execution.tuned_settings import TunedSettings, as_text, checked, choose, merged, read_tuned, shipped
from benchmark.execution.tuning import Trial, chosen
from benchmark.registry import get_dataset, get_method, methods


def winner(bits: int = 16, method: str = "dph", **more: Any) -> dict[str, Any]:
    names = {"method": method, "revision": "r", "training": "t", "bits": bits, "params": {"gamma": bits / 16}}
    return {**names, "trials": [{"params": {}, "scores": [0.5, None]}], **more}


def test_a_length_that_was_not_tuned_takes_the_nearest() -> None:
    found = TunedSettings("shipped", [winner(16), winner(64)])
    assert found.of("dph", "r", "t", 64) == {"gamma": 4.0}
    assert found.of("dph", "r", "t", 24) == {"gamma": 1.0}
    assert found.of("dph", "r", "t", 48) == {"gamma": 4.0}
    assert found.of("dph", "r", "t", 512) == {"gamma": 4.0}
    for names in (("dhn", "r", "t"), ("dph", "other data", "t"), ("dph", "r", "another profile")):
        assert found.of(*names, 16) is None


def test_the_first_that_knows_is_asked_and_defaults_are_the_last() -> None:
    own = TunedSettings("tuned", [winner(16, params={"gamma": 2})])
    others = TunedSettings("shipped", [winner(16), winner(16, method="dhn", params={})])
    assert (choose([own, others], "dph", "r", "t", 16).origin, choose([own, others], "dhn", "r", "t", 16).origin) == (
        "tuned",
        "shipped",
    )
    assert choose([own, others], "itq", "r", "t", 16) == choose([], "itq", "r", "t", 16)


def test_what_is_written_is_read_again_and_newer_goes_before_older(tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    both = merged([winner(16), winner(64)], [winner(64, params={"gamma": 9})])
    path.write_text(as_text(both))
    found = read_tuned(path)
    assert [one["params"] for one in found.winners] == [{"gamma": 1.0}, {"gamma": 9}]
    assert found.winners[0]["trials"] == winner()["trials"]
    assert found.source == os.path.realpath(path)


@pytest.mark.parametrize(
    "content",
    ["", "hello", "[]", "5", "{}", '{"winners": "all"}', '{"winners": [1]}', '{"winners": [{"method": "x"}]}',
     "[" * 100_000, '{"winners": [{"method": 5, "revision": "r", "training": "t", "bits": 16, "params": {}}]}'],
)  # fmt: skip
def test_a_file_that_tune_did_not_write(tmp_path: Path, content: str) -> None:
    """E: a damaged file of winners."""
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(UsageError, match=r"t\.json: not a file that 'tune' wrote"):
        read_tuned(tmp_path / "t.json")


@pytest.mark.parametrize("name", ["nowhere.json", ".", "pipe", "loop", "n" * 5000, "file/t.json"])
def test_winners_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    """E: OSErrors; a pipe must not be waited for."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="--tuned"):
        read_tuned(tmp_path / name)


def test_what_ships_is_of_the_miniatures_as_they_are_and_says_how_it_was_chosen() -> None:
    winners = shipped().winners
    checked(json.loads(as_text(winners)))
    training = training_id(load_profile("quick"))
    revisions = {name: get_dataset(name).revision for name in ("imagenet-mini", "nus-mini", "coco-mini")}
    known = {(one["method"], one["dataset"], one["bits"]) for one in winners}
    wanted = [cls.info.name for cls in methods if "paper" in cls.info.groups]
    wanted += ["dph-f", "dph-w", "dph-q"]
    assert {(m, d, bits) for m in wanted for d in revisions for bits in (16, 32, 48, 64)} == known
    for one in winners:
        assert (one["revision"], one["training"]) == (revisions[one["dataset"]], training)
        best = chosen([Trial(trial["params"], trial["scores"]) for trial in one["trials"]], one["folds"])
        assert best is not None
        assert (one["params"], one["score"]) == (best.setting, pytest.approx(best.mean, abs=2e-5))
        assert set(one["params"]) <= {*get_method(one["method"]).info.parameters, "learning_rate", "weight_decay"}


def test_every_method_that_ships_had_the_same_number_of_trials() -> None:
    for one in shipped().winners:
        if not one["between"] and "learning_rate" in {name for trial in one["trials"] for name in trial["params"]}:
            assert len(one["trials"]) == 24
