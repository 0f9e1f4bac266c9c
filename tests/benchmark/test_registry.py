"""Plugins by name, from folders, files and entry points; errors that name the thing and the remedy."""

import os
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from benchmark import UsageError, get_dataset, get_method, register_method
from benchmark.deep import PointwiseMethod
from benchmark.registry import (
    Registry,
    builtin_folder,
    builtin_names,
    datasets,
    load_only,
    load_plugin,
    methods,
    plugin_file,
)

PLUGIN = """
from benchmark import register_method
@register_method("{name}", title="X", family="control")
class Method:
    def __init__(self, bits, seed=0, *, width=3): ...
    def fit(self, train): ...
    def encode(self, split): ...
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


def test_only_a_plugin_file_must_be_named(tmp_path):
    """By its name alone: folders of the machine that ran a cell are nobody's business."""
    file = write(tmp_path / "filed.py", "test-filed")
    load_plugin(file)
    assert plugin_file(get_method("test-filed")) == "filed.py"
    assert plugin_file(get_method("lsh")) is None
    assert plugin_file(datasets.get("coco")) is None


def test_the_papers_twelve_are_there():
    twelve = {"lsh", "sh", "itq", "ksh", "sdh", "cnnh", "dnnh", "dpsh", "dsh", "dhn", "hashnet", "dph"}
    assert {cls.info.name for cls in methods if "paper" in cls.info.groups} == twelve


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


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("parameter(0, leest=0)", "unexpected keyword argument 'leest' (slip.py line 4)"),
        ("parameter(2.0, search=['a'])", "power = 'a', expected a finite float (slip.py line 2)"),
        ("unheard_of", "name 'unheard_of' is not defined (slip.py line 4)"),
    ],
)
def test_what_is_wrong_in_a_plugin_file_is_told_with_its_line(tmp_path, declared, told):
    head = 'from benchmark import parameter, register_method\n@register_method("test-slip", title="T")\nclass Slip:\n'
    (tmp_path / "slip.py").write_text(f"{head}    power: float = {declared}\n")
    with pytest.raises(UsageError) as caught:
        load_plugin(tmp_path / "slip.py")
    assert str(caught.value).endswith(told)


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


def entries(monkeypatch, *values, group="hashbench.methods"):
    """Entry points as if packages had been installed that name them."""
    found = [EntryPoint(name, value, group) for name, value in values]
    monkeypatch.setattr("benchmark.registry.entry_points", lambda group: [e for e in found if e.group == group])


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package whose method uses a helper module of its own."""
    folder = tmp_path / "some_hashing"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "helper.py").write_text("WIDTH = 3")
    (folder / "plugin.py").write_text("from some_hashing.helper import WIDTH\n" + PLUGIN.format(name="test-packaged"))
    monkeypatch.syspath_prepend(tmp_path)
    methods.load()
    monkeypatch.setattr(methods, "_plugins", dict(methods._plugins))
    yield folder
    for name in [name for name in sys.modules if name.startswith("some_hashing")]:
        del sys.modules[name]


def test_a_broken_entry_point_is_a_warning_that_stops_only_who_asks_for_it(monkeypatch):
    entries(monkeypatch, ("broken-x", "no_such_module_x:X"))
    registry = Registry("method")
    with pytest.warns(UserWarning, match="entry point broken-x = no_such_module_x:X cannot be imported"):
        registry.load()
    assert "No module named" in registry.broken["broken-x"]
    with pytest.raises(UsageError, match=r"method 'broken-x': plugin entry point.*No module named"):
        registry.get("broken-x")
    with pytest.raises(UsageError, match=r"unknown method 'other'.*broken-x = no_such_module_x"):
        registry.get("other")


def test_a_plugin_that_breaks_halfway_leaves_nothing_registered(tmp_path):
    path = write(tmp_path / "half.py", "test-half", PLUGIN + "raise RuntimeError('halfway')")
    with pytest.raises(UsageError, match="halfway"):
        load_plugin(path)
    assert "test-half" not in methods._plugins


RESTLESS = "import os; os.chdir('/'); os.environ['RESTLESS'] = 'yes'; os.environ.pop('STAYS', None)" + PLUGIN


def test_a_plugin_moves_nobody_but_itself(tmp_path, monkeypatch):
    """Folder and environment of the run are those of every cell; only its own cell keeps what a plugin sets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STAYS", "yes")
    monkeypatch.delenv("RESTLESS", raising=False)
    load_plugin(write(tmp_path / "restless.py", "test-restless", RESTLESS))
    assert (os.getcwd(), os.environ.get("STAYS"), os.environ.get("RESTLESS")) == (str(tmp_path), "yes", None)
    load_only("method", "test-alone", write(tmp_path / "alone.py", "test-alone", RESTLESS))
    assert os.environ["RESTLESS"] == "yes"


def test_a_plugin_loaded_by_one_that_breaks_is_not_lost(tmp_path):
    inner = write(tmp_path / "inner.py", "test-inner")
    outer = tmp_path / "outer.py"
    outer.write_text(f"from benchmark.registry import load_plugin\nload_plugin({str(inner)!r})\nraise RuntimeError")
    with pytest.raises(UsageError, match="RuntimeError"):
        load_plugin(outer)
    load_plugin(inner)
    assert get_method("test-inner").info.source == inner


def test_what_an_entry_point_brings_says_so(monkeypatch, package):
    entries(monkeypatch, ("test-packaged", "some_hashing.plugin:Method"))
    registry = Registry("method")
    registry.load()
    info = methods._plugins["test-packaged"].info
    assert info.entry == "some_hashing.plugin:Method"
    assert info.source == package / "plugin.py"


LOADED = "print(*sorted(name for name in sys.modules if name.startswith(('hashbench_plugin', 'some_hashing'))))"


def fresh(code, *folders):
    """The plugin modules that a new process has imported after this code."""
    lines = f"import sys; sys.path[:0] = {list(map(str, folders))}; {code}; {LOADED}"
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_one_plugin_is_loaded_and_no_other(package):
    """A4: a cell loads its own plugin and no other."""
    source = str(methods.get("itq").info.source)
    loaded = fresh(f"from benchmark.registry import load_only; load_only('method', 'itq', {source!r})")
    assert [name.split("_")[2] for name in loaded] == ["itq"]
    loaded = fresh("from benchmark import get_method; get_method('dph-f')")
    assert [name.split("_")[2] for name in loaded] == ["dph"]
    entry = "'test-packaged', None, 'some_hashing.plugin:Method'"
    loaded = fresh(f"from benchmark.registry import load_only; load_only('method', {entry})", package.parent)
    assert loaded == ["some_hashing", "some_hashing.helper", "some_hashing.plugin"]


def test_own_data_are_named_without_loading_data_sets():
    code = "from benchmark.registry import name_of_own as n; assert [n('x', 'a'), n('x', 'coco')] == ['a', 'x:coco']"
    assert fresh(code) == []


def test_a_file_that_no_longer_registers_the_name_is_told(tmp_path):
    path = write(tmp_path / "renamed.py", "test-new-name")
    with pytest.raises(UsageError, match=r"'test-old-name' comes from .*renamed\.py, which does not register it"):
        load_only("method", "test-old-name", path)
    with pytest.raises(UsageError, match="interactively"):
        load_only("method", "test-old-name", None)


def test_a_plugin_may_not_take_a_built_in_name_even_before_that_is_loaded(tmp_path):
    path = write(tmp_path / "mine.py", "itq")
    code = f"""
import sys
from benchmark import UsageError
from benchmark.registry import load_plugin
try:
    load_plugin({str(path)!r})
except UsageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "method 'itq' is defined twice" in done.stdout


def test_built_in_names_read_off_the_files_are_those_that_are_registered():
    for registry in (methods, datasets):
        built_in = {cls.info.name for cls in registry if cls.info.source.parent == builtin_folder(f"{registry.kind}s")}
        assert set(builtin_names(registry.kind)) == built_in


class Stub:
    def fit(self, train): ...

    def encode(self, split): ...


def test_what_is_declared_must_be_known():
    for wrong in ({"needs": "label"}, {"input": "pixels"}, {"family": "shallow"}):
        with pytest.raises(UsageError, match=f"{next(iter(wrong))} = .*, expected one of"):
            register_method("test-wrong", title="X", **wrong)(type("Wrong", (Stub,), {}))
    with pytest.raises(UsageError, match="class Half has no encode"):
        register_method("test-wrong", title="X")(type("Half", (), {"fit": Stub.fit}))


@pytest.mark.parametrize("asked", [{"labels_at_encode": True}, {"ranks": "vectors"}])
def test_what_only_a_control_may_ask_for_is_refused_to_others(asked):
    for family in ("unsupervised", "supervised", "deep", "data-independent"):
        with pytest.raises(UsageError, match=f"method 'test-wrong': {next(iter(asked))}=.* is for family='control'"):
            register_method("test-wrong", title="X", family=family, **asked)(type("Wrong", (Stub,), {"embed": None}))


def test_a_control_that_ranks_vectors_needs_embed_and_no_encode():
    with pytest.raises(UsageError, match=r"class Half has no embed: a method needs fit\(train\) and embed\(split\)"):
        register_method("test-wrong", title="X", family="control", ranks="vectors")(type("Half", (), {"fit": Stub.fit}))


def test_family_and_needs_come_from_the_class_it_derives_from(monkeypatch):
    methods.load()
    monkeypatch.setattr(methods, "_plugins", dict(methods._plugins))
    plain = register_method("test-a", title="A", needs="labels", paper="P")(type("A", (Stub,), {}))
    derived = register_method("test-b", title="B")(type("B", (plain,), {}))
    assert (derived.info.family, derived.info.needs, derived.info.paper) == ("supervised", "labels", "P")
    deep = register_method("test-c", title="C")(type("C", (PointwiseMethod,), {}))
    assert (deep.info.family, deep.info.input, deep.info.needs) == ("deep", "images", "labels")
    assert register_method("test-d", title="D")(type("D", (Stub,), {})).info.family == "unsupervised"


@pytest.mark.slow
def test_a_method_from_the_registry_has_types(tmp_path):
    """`get_method` results carry types, for whoever installed the package."""
    (tmp_path / "user.py").write_text(
        "from benchmark import Split, get_method\n"
        "method = get_method('itq')(16, seed=1, iterations=5)\n"
        "reveal_type(method.fit(Split()).encode(Split()))\n"
    )
    api = pytest.importorskip("mypy.api")
    told, _, _ = api.run(
        [str(tmp_path / "user.py"), "--config-file=", "--follow-imports=silent", "--ignore-missing-imports"]
    )
    assert "numpy.ndarray" in told
    assert builtin_folder("methods").parent.joinpath("benchmark", "py.typed").exists()


def test_a_helper_beside_a_plugin_file_is_told_to_become_a_package(tmp_path):
    (tmp_path / "beside_helper.py").write_text("x = 1\n")
    (tmp_path / "leaning.py").write_text("from beside_helper import x\n")
    with pytest.raises(UsageError, match="a plugin file stands alone: make a package"):
        load_plugin(tmp_path / "leaning.py")
