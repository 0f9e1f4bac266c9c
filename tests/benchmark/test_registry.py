"""Plugins by name, from folders, files and entry points; errors that name the thing and the remedy."""

import subprocess
import sys

import pytest

from benchmark import UsageError, get_dataset, get_method
from benchmark.registry import PAPER, Registry, builtin_folder, load_plugin, methods

PLUGIN = """
from benchmark import register_method
@register_method("{name}", title="X", family="control")
class Method:
    def __init__(self, bits, seed=0, *, width=3): ...
"""


def write(path, name, text=PLUGIN):
    path.write_text(text.format(name=name))
    return path


def test_every_builtin_file_registers_something_and_imports_no_other_plugin():
    for folder in ("methods", "datasets"):
        for path in builtin_folder(folder).glob("*.py"):
            text = path.read_text()
            assert "@register_" in text, path
            assert "from methods" not in text, path
            assert "from datasets" not in text, path


def test_the_papers_twelve_are_there():
    assert set(PAPER) <= set(methods.names())


def test_planning_needs_no_torch():
    code = "import sys; from benchmark.registry import methods, datasets; methods.names(); datasets.names();"
    done = subprocess.run(
        [sys.executable, "-c", code + "print('torch' in sys.modules)"], capture_output=True, text=True
    )
    assert done.stdout.strip() == "False", done.stderr


def test_a_plugin_file_is_known_by_its_name_with_its_parameters(tmp_path):
    load_plugin(write(tmp_path / "one.py", "test-one"))
    info = get_method("test-one").info
    assert info.parameters == {"width": 3}
    assert info.source == tmp_path / "one.py"


def test_a_name_defined_twice_names_both_files(tmp_path):
    load_plugin(write(tmp_path / "a.py", "test-twice"))
    with pytest.raises(UsageError, match=r"twice.*a\.py.*b\.py"):
        load_plugin(write(tmp_path / "b.py", "test-twice"))


@pytest.mark.parametrize("text", ["import nothing_of_that_name", "raise SystemExit(3)", "def ("])
def test_a_plugin_that_cannot_be_imported_is_one_clear_error(tmp_path, text):
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"bad\.py cannot be imported"):
        load_plugin(path)


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'itq'"):
        get_method("itqq")
    with pytest.raises(UsageError, match="did you mean 'coco'"):
        get_dataset("cocoo")


def test_a_path_is_given_where_one_is_taken_and_only_there():
    with pytest.raises(UsageError, match="needs a path"):
        get_dataset("features")
    with pytest.raises(UsageError, match="takes no path"):
        get_dataset("coco:somewhere")


def test_without_a_data_root_the_miniature_stands_in_and_says_so():
    dataset = get_dataset("imagenet")
    assert dataset.name == "imagenet-mini"
    assert dataset.miniature


def test_entry_points_are_loaded(monkeypatch):
    class Entry:
        name, value = "x", "somewhere:X"

        def load(self):
            raise ImportError("no module somewhere")

    monkeypatch.setattr("benchmark.registry.entry_points", lambda group: [Entry()])
    with pytest.raises(UsageError, match="entry point x = somewhere:X"):
        Registry("method").load()
