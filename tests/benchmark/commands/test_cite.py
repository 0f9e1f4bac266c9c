"""`cite`: BibTeX of what was named, once each; what has none is told apart from what was printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import benchmark
from benchmark.cards.bibtex import separated


def keys(text: str) -> list[str]:
    prose, entries = separated(text, "here")
    assert not prose.strip()
    return [entry.key for entry in entries]


def test_named_methods_and_data_sets(command: Callable[..., Any]) -> None:
    code, out, err = command("cite", "dhn", "coco")
    assert (code, keys(out), err) == (0, ["zhu2016dhn", "lin2014coco"], "")
    assert "author    = {Zhu, Han and Long, Mingsheng and Wang, Jianmin and Cao, Yue}," in out


def test_one_paper_is_printed_once(command: Callable[..., Any]) -> None:
    _, out, _ = command("cite", "itq", "pca-rr", "dph-f", "dph")
    assert keys(out) == ["gong2011itq", "cao2018dph"]


def test_a_group(command: Callable[..., Any]) -> None:
    _, out, _ = command("cite", "paper")
    assert {"cao2018dph", "gionis1999lsh", "cao2017hashnet"} <= set(keys(out))
    assert "yuan2020csq" not in keys(out)


def test_everything_and_the_suite_itself(command: Callable[..., Any]) -> None:
    code, out, err = command("cite")
    assert code == 0
    assert keys(out)[0] == "hashbench"
    assert f"note   = {{Version {benchmark.__version__}}}," in out
    assert {"cao2018dph", "yuan2020csq", "russakovsky2015imagenet"} <= set(keys(out))
    assert "nothing to cite: " in err
    assert "random" in err


def test_what_has_no_paper_and_what_has_no_entry(command: Callable[..., Any], tmp_path: Any) -> None:
    (tmp_path / "mine.py").write_text(
        "from benchmark import register_method\n"
        '@register_method("cite-mine", title="M", paper="Doe, 2026")\n'
        "class M:\n    def fit(self, train): ...\n    def encode(self, split): ...\n"
    )
    code, out, err = command("cite", "cite-mine", "random", "--plugin", str(tmp_path / "mine.py"))
    assert (code, out) == (0, "")
    assert err.splitlines() == [
        "nothing to cite: random",
        "no BibTeX: cite-mine (Doe, 2026); it belongs into the docstring of its class",
    ]


def test_an_unknown_name_costs_a_line(command: Callable[..., Any]) -> None:
    code, out, err = command("cite", "dhn", "imagnet")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "'imagnet' is neither a method nor a data set: did you mean 'imagenet'" in err


def test_a_name_like_no_other_may_be_in_a_file(command: Callable[..., Any]) -> None:
    code, out, err = command("cite", "zzz-blobs")
    assert (code, out, err.endswith("; one in a file: --plugin FILE\n")) == (2, "", True)


def test_what_results_used(command: Callable[..., Any]) -> None:
    history = Path(__file__).parents[2] / "history" / "schema2"
    code, out, _ = command("cite", "--results", str(history))
    assert code == 0
    used = keys(out)
    assert used[0] == "hashbench"
    assert 1 < len(used) < 10
    assert command("cite", "dhn", "--results", str(history))[0] == 2
    assert command("cite", "--results", str(history / "nowhere"))[0] == 2
