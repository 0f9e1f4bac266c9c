"""The command line as a user meets it: bad input costs one line and exit code 2, and writes nothing."""

import json

import numpy as np
import pytest

from benchmark.commands.main import main
from benchmark.execution.store import Store


def write_features(path, **changes):
    """A small, easy data set file."""
    generator = np.random.default_rng(0)
    centres = generator.standard_normal((4, 24)) * 2
    arrays = {}
    for part, per_class in (("train", 30), ("query", 5), ("database", 40)):
        labels = np.repeat(np.arange(4), per_class)
        noise = generator.standard_normal((len(labels), 24))
        arrays[f"{part}_features"] = (centres[labels] + noise).astype(np.float32)
        arrays[f"{part}_labels"] = labels
    arrays |= {"map_cutoff": 50} | changes
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})
    return path


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder; gives exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HASHBENCH_DATA", raising=False)

    def call(*words):
        code = main([str(word) for word in words])
        output = capsys.readouterr()
        return code, output.out, output.err

    return call


PLUGIN = """
import numpy as np
from benchmark import register_method

@register_method("test-parity", title="Parity", family="data-independent")
class Parity:
    def __init__(self, bits, seed=0): self.bits = bits
    def fit(self, train): return self
    def encode(self, split):
        return np.where(split.features[:, np.arange(self.bits) % split.features.shape[1]] > 0, 1, -1).astype(np.int8)
"""

nan = np.full((120, 24), np.nan, np.float32)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--methods", "itqq"], "did you mean 'itq'"),
        (["--datasets", "cocco"], "did you mean 'coco'"),
        (["--bits", "0"], "'0' is not a whole number of 1 or more"),
        (["--bits", "x"], "'x' is not a whole number"),
        (["--datasets", "coco", "--data-root", "nowhere"], "nowhere is not a folder"),
        (["--datasets", "coco", "--data-root", "."], "coco"),
        (["--datasets", "features:none.npz"], "none.npz"),
        (["--datasets", "lists:nowhere"], "nowhere"),
        (["--profile", "fast"], "profile 'fast'"),
        (["--plugin", "absent.py"], "absent.py does not exist"),
        (["--set", "gamma=1"], "METHOD.NAME=VALUE"),
        (["--set", "dph.gama=1"], "no parameter 'gama'"),
        (["--sweep", "dph.inv_epsilon"], "--sweep"),
        (["--memory", "much"], "not a size"),
        (["--unknown-flag"], "--unknown-flag"),
        (["audit", "nothing"], "unknown dataset 'nothing'"),
        (["check", "absent.py"], "absent.py"),
    ],
)
def test_bad_words_cost_one_line_and_write_nothing(run, tmp_path, words, told):
    code, _out, err = run(*words)
    assert code == 2
    assert told in err
    assert err.startswith("error: ")
    assert len(err.strip().splitlines()) == 1, err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"query_labels": None}, "query_labels"),
        ({"train_features": nan}, "NaN"),
        ({"train_labels": np.arange(7)}, "train_labels"),
        ({"query_labels": np.zeros((20, 9), bool)}, "query_labels"),
        ({"database_features": np.zeros((160, 5), np.float32)}, "5"),
    ],
)
def test_malformed_feature_files_are_named_before_any_work(run, tmp_path, changes, told):
    file = write_features(tmp_path / "mine.npz", **changes)
    code, _, err = run("--datasets", f"features:{file}", "--methods", "lsh")
    assert (code, told in err, "mine.npz" in err) == (2, True, True), err
    assert not (tmp_path / "results").exists()


def test_a_file_that_is_no_npz(run, tmp_path):
    (tmp_path / "mine.npz").write_text("not an archive")
    code, _, err = run("--datasets", "features:mine.npz")
    assert code == 2
    assert "mine.npz" in err


def test_a_run_a_rerun_and_the_same_numbers_again(run, tmp_path):
    """One grid of every kind: results, report, nothing trained twice, and the same numbers in another folder."""
    write_features(tmp_path / "mine.npz")
    words = ["--datasets", "features:mine.npz", "--methods", "lsh", "itq", "dph", "--bits", "8", "16"]
    code, out, err = run(*words)
    assert code == 0, err
    assert "6 to run" in out
    assert "index.html" in out
    assert (tmp_path / "reports" / "default" / "index.html").is_file()
    code, out, _ = run(*words)
    assert code == 0
    assert "6 done; 0 to run" in out
    run(*words, "--results", "again", "--no-report")
    first, second = ({r.key: r for r in Store(name).records()} for name in ("results", "again"))
    assert set(first) == set(second)
    for key, record in first.items():
        assert record.metrics == second[key].metrics
        assert record.metrics["map"] > 0.5
        one, two = Store("results").payload(record), Store("again").payload(second[key])
        assert all(np.array_equal(one[name], two[name], equal_nan=True) for name in one)


def test_an_outside_plugin_runs_and_an_order_of_methods_changes_no_key(run, tmp_path):
    write_features(tmp_path / "mine.npz")
    (tmp_path / "parity.py").write_text(PLUGIN)
    words = ["--datasets", "features:mine.npz", "--bits", "16", "--no-report", "--plugin", "parity.py"]
    code, out, err = run(*words, "--methods", "test-parity", "lsh")
    assert code == 0, err
    assert "test-parity" in out
    code, out, _ = run(*words, "--methods", "lsh", "test-parity", "--dry-run")
    assert "2 done; 0 to run" in out


def test_a_failing_method_is_recorded_rerun_and_gives_exit_code_one(run, tmp_path):
    write_features(tmp_path / "mine.npz")
    (tmp_path / "bad.py").write_text(PLUGIN.replace("test-parity", "test-bad").replace("1, -1", "1, 0"))
    words = ["--datasets", "features:mine.npz", "--methods", "test-bad", "lsh", "--bits", "16", "--no-report"]
    code, out, _ = run(*words, "--plugin", "bad.py")
    assert code == 1
    assert "invalid_codes" in out
    code, out, _ = run(*words, "--plugin", "bad.py")
    assert (code, "1 done, 1 failed; 1 to run" in out) == (1, True), out
    code, out, _ = run(*words, "--plugin", "bad.py", "--keep-failed")
    assert (code, "0 to run" in out) == (1, True)
    code, out, _ = run(*words, "--plugin", "bad.py", "--only-failed")
    assert "1 to run" in out


def test_a_changed_source_makes_a_cell_stale_and_why_names_it(run, tmp_path):
    write_features(tmp_path / "mine.npz")
    plugin = tmp_path / "parity_a.py"
    plugin.write_text(PLUGIN.replace("test-parity", "test-stale"))
    words = ["--datasets", "features:mine.npz", "--methods", "test-stale", "--bits", "16"]
    run(*words, "--no-report", "--plugin", plugin)
    record = next(Store("results").records())
    record.parts["sources"]["method"] = "older"
    (tmp_path / "results" / "cells" / f"{record.key}.json").unlink()
    record.key = "0" * 64
    Store("results").commit(record, {"ap": np.zeros(1)})
    _code, out, _ = run("why", *words, "--plugin", plugin)
    assert "stale" in out
    assert "sources.method: older ->" in out


def test_list_names_methods_and_data_sets(run):
    code, out, _ = run("list")
    assert code == 0
    for name in ("dph", "hashnet", "imagenet", "features:"):
        assert name in out


def test_verify_finds_a_flipped_bit(run, tmp_path):
    write_features(tmp_path / "mine.npz")
    run("--datasets", "features:mine.npz", "--methods", "lsh", "--bits", "8", "--no-report")
    assert run("verify")[0] == 0
    record = next((tmp_path / "results" / "cells").glob("*.json"))
    content = json.loads(record.read_text())
    content["metrics"]["map"] = 1.0
    record.write_text(json.dumps(content))
    code, out, _ = run("verify")
    assert code == 1
    assert "damaged" in out
