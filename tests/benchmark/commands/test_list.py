"""`list`: what there is, and what one method can be told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmark.program import typed


def test_list_names_methods_and_data_sets(command: Callable[..., Any]) -> None:
    code, out, _ = command("list")
    assert code == 0
    for name in ("dph", "hashnet", "imagenet", "features:"):
        assert name in out


def test_one_method_with_its_parameters_types_and_values_to_search(command: Callable[..., Any]) -> None:
    code, out, _ = command("list", "itq")
    assert code == 0
    assert "iterations = 50 (int, 0 or more): alternations" in out
    assert "tune searches 10, 50, 100" in out
    assert "scaling = 'center-l2' ('center-l2', 'center', 'l2' or 'none')" in out
    assert "--set itq.NAME=VALUE" in out


def test_a_deep_method_with_what_may_be_set_of_its_training(command: Callable[..., Any]) -> None:
    code, out, _ = command("list", "dph")
    assert code == 0
    assert "gamma = 0.1 (a finite float, 0 or more): exponent of the priority" in out
    assert "of its training (set alike; the values are those of the profile" in out
    assert "tune searches 0.0001, 0.0003, 0.001, 0.003, 0.01" in out


def test_columns_stay_straight_whatever_the_names_are(command: Callable[..., Any]) -> None:
    _, out, _ = command("list")
    lines = out.splitlines()
    methods = lines[1 : lines.index("datasets")]
    assert len({line.index(" needs ") for line in methods}) == 1
    assert not [line for line in lines if line != line.rstrip()]


def test_the_card_of_a_method(command: Callable[..., Any]) -> None:
    _, out, _ = command("list", "hashnet")
    lines = out.splitlines()
    assert lines[0] == "hashnet: HashNet, deep, on images, needs similarity"
    assert "  Cao et al., ICCV 2017" in lines
    assert "HashNet: Deep Learning to Hash by Continuation." in " ".join(out.split())
    assert "  sees images (where there are none, features); which pairs are similar" in lines
    places = [lines.index(part) for part in ("formula", "notes", "differs from the original")]
    assert places == sorted(places)
    assert lines[places[0] + 1].startswith("  L = sum w_ij")
    assert lines[-1] == f"to cite it: {typed(['cite', 'hashnet'])}"
    assert "@" not in out


def test_cards_as_markdown(command: Callable[..., Any], tmp_path: Any) -> None:
    code, out, _ = command("list", "itq", "--markdown", str(tmp_path / "one.md"))
    assert (code, out) == (0, f"1 card in {tmp_path / 'one.md'}\n")
    assert (tmp_path / "one.md").read_text().count("\n### ") == 1
    code, _, _ = command("list", "--markdown", str(tmp_path / "all.md"))
    assert (code, "\n### lsh\n" in (tmp_path / "all.md").read_text()) == (0, True)
    code, _, err = command("list", "--markdown", str(tmp_path / "nowhere" / "all.md"))
    assert (code, len(err.splitlines())) == (2, 1)


def test_an_unknown_method(command: Callable[..., Any]) -> None:
    code, out, err = command("list", "itqq")
    assert (code, out, "did you mean 'itq'" in err) == (2, "", True)


def test_a_data_set(command: Callable[..., Any]) -> None:
    code, out, _ = command("list", "coco")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "coco: MS-COCO, a data set; without --data-root, coco-mini stands in"
    assert "Tsung-Yi Lin" in lines[1]
    assert "  The paper's MS-COCO." in lines
    assert "options (--option coco.NAME=VALUE)" in lines
    assert "  split_seed = 0" in lines
    assert lines[-2:] == [f"its rows and labels: {typed(['audit', 'coco'])}", f"to cite it: {typed(['cite', 'coco'])}"]
    _, out, _ = command("list", "lists:somewhere")
    assert out.startswith("lists:DIR: Images from list files, a data set\n  protocol: as listed\n  defined in ")


PLUGIN = """
from benchmark import Splits, register_dataset, register_method
from benchmark.data import NamedDataset

@register_dataset("list-dots", title="Dots")
class Dots(NamedDataset):
    '''Dots, nothing else.

    @misc{dots2026, title={Dots}, author={Someone, Ann}, year={2026}}'''

    protocol, map_cutoff, backbone, revision = "drawn", 0, None, "1"

    def __init__(self, argument=None, data_root=None, *, spread=1.5): super().__init__()
    def check(self): pass
    def load(self): raise NotImplementedError

@register_method("list-lines", title="Lines", paper="Someone, 2026")
class Lines:
    '''@misc{lines2026, title={Lines}, author={Someone, Ann}, year={2026}}'''
    def fit(self, train): ...
    def encode(self, split): ...
"""


def test_a_plugin_is_told_with_the_whole_commands(command: Callable[..., Any], tmp_path: Any) -> None:
    (tmp_path / "my own.py").write_text(PLUGIN)
    (tmp_path / "other.py").write_text(PLUGIN.replace("list-dots", "list-d").replace("list-lines", "list-l"))
    for name, key in (("list-dots", "dots2026"), ("list-lines", "lines2026")):
        code, out, _ = command("list", name, "--plugin", "my own.py", "other.py")
        last = out.splitlines()[-1]
        assert (code, last) == (0, f"to cite it: {typed(['cite', name, '--plugin', 'my own.py'])}")
        code, out, _ = command("cite", name, "--plugin", "my own.py")
        assert (code, out.splitlines()[0]) == (0, f"@misc{{{key},")
    _, out, _ = command("list", "list-dots", "--plugin", "my own.py")
    assert out.startswith("list-dots: Dots, a data set\n  Ann Someone. Dots. 2026.\n  protocol: drawn\n  MAP@all\n")
    assert "notes\n  Dots, nothing else.\noptions (--option list-dots.NAME=VALUE)\n  spread = 1.5\n" in out


def test_a_data_set_is_no_card_in_markdown_and_a_near_name_is_told(command: Callable[..., Any], tmp_path: Any) -> None:
    code, out, err = command("list", "coco", "--markdown", tmp_path / "one.md")
    assert (code, out, "'coco' is a data set" in err) == (2, "", True)
    code, out, err = command("list", "imagnet")
    assert (code, out) == (2, "")
    assert "'imagnet' is neither a method nor a data set: did you mean 'imagenet'?" in err
