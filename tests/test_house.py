"""The house keeps its own rules: one name one meaning, a test for each file, short functions, cheap imports."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import grimp  # comes with import-linter
import pytest

from benchmark.registry import builtin_names

ROOT = Path(__file__).parents[1]
FILES = [file for folder in ("benchmark", "methods", "datasets") for file in sorted((ROOT / folder).rglob("*.py"))]
OURS = [file for file in FILES if file.is_relative_to(ROOT / "benchmark")]
TREES = {file.relative_to(ROOT): ast.parse(file.read_text(encoding="utf-8")) for file in FILES}
# Tests of what no single file decides.
ACROSS = (
    r"benchmark/commands/test_bad_\w+", r"benchmark/deep/test_(checklist|pointwise)",
    r"benchmark/execution/test_resume", r"(datasets|methods)/test_conformance",
    r"datasets/test_(end_to_end|tiny_imagenet)", r"methods/test_quality",
    r"test_\w+",
)  # fmt: skip
PROTOCOL = {"run", "add_arguments"}  # of every command


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for file, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                yield f"{file}:{node.name}", node


def twice(kind: type, everywhere: bool) -> dict[str, list[str]]:
    """Names that stand in several places of the package."""
    places = defaultdict(list)
    for file, tree in TREES.items():
        if file.parts[0] == "benchmark":
            for node in ast.walk(tree) if everywhere else tree.body:
                if isinstance(node, kind):
                    places[node.name].append(str(file))
    return {name: found for name, found in places.items() if len(found) > 1}


def test_no_two_classes_have_one_name():
    assert not twice(ast.ClassDef, everywhere=True)


def test_no_two_public_functions_have_one_name():
    found = {name for name in twice(ast.FunctionDef, everywhere=False) if not name.startswith("_")}
    assert found <= PROTOCOL


def test_every_file_has_its_tests_and_every_test_its_file():
    files = {file.parent / f"test_{file.stem}" for file in TREES if file.name != "__init__.py"}
    tests = {file.relative_to(ROOT / "tests").with_suffix("") for file in (ROOT / "tests").rglob("test_*.py")}
    assert not sorted(files - tests)
    assert not [one for one in sorted(tests - files) if not any(re.fullmatch(word, str(one)) for word in ACROSS)]


def test_a_file_opens_with_what_lives_in_it():
    assert not [str(file) for file, tree in TREES.items() if not ast.get_docstring(tree)]


def test_functions_fit_on_a_screen():
    lengths = {name: node.end_lineno - node.lineno + 1 for name, node in functions()}
    assert not {name: lines for name, lines in lengths.items() if lines > 60}
    assert sum(lines < 30 for lines in lengths.values()) > 0.9 * len(lengths)


def code_lines(tree: ast.Module, text: str) -> int:
    """Lines of a file without docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = [node.body[0] for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node)]
    return len(text.splitlines()) - sum(one.end_lineno - one.lineno + 1 for one in docs)


LOSS_ONLY = {
    "PairwiseMethod",
    "PointwiseMethod",
    "CentredMethod",
    "TripletMethod",
    "StoredMethod",
    "UnsupervisedMethod",
}
OWN_MACHINERY = {"prepare", "draw", "fit"}  # a method with stages of its own is more than a loss


def test_a_method_that_is_a_loss_takes_25_lines():
    found = {}
    for file, tree in TREES.items():
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        bases = {base.id for node in classes for base in node.bases if isinstance(base, ast.Name)}
        if (
            file.parts[0] == "methods"
            and len(classes) == 1
            and bases & LOSS_ONLY
            and not any(node.name in OWN_MACHINERY for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        ):
            found[str(file)] = code_lines(tree, (ROOT / file).read_text(encoding="utf-8"))
    assert {"methods/dhn.py", "methods/dph_triplet.py", "methods/csq.py", "methods/cibhash.py"} <= set(found)
    assert not {file: lines for file, lines in found.items() if lines > 25}


def test_no_method_takes_more_than_120_lines():
    methods = {file: tree for file, tree in TREES.items() if file.parts[0] == "methods"}
    lines = {str(file): code_lines(tree, (ROOT / file).read_text(encoding="utf-8")) for file, tree in methods.items()}
    assert {"methods/dph.py", "methods/ksh.py"} <= set(lines)
    assert not {file: count for file, count in lines.items() if count > 120}


def test_nothing_but_the_plugins_knows_their_names():
    """Which methods a report puts in front is data (highlight.toml), not code."""
    known = set(builtin_names("method")) - {"random"}  # weights are called that, too
    assert "dph" in known
    for file in OURS:
        words = {node.value for node in ast.walk(TREES[file.relative_to(ROOT)]) if isinstance(node, ast.Constant)}
        assert not known & {word for word in words if isinstance(word, str)}, file


@pytest.mark.parametrize("folder", ["methods", "datasets"])
def test_plugins_import_the_house_and_never_each_other(folder):
    others = {file.stem for file in (ROOT / folder).glob("*.py")}
    assert not (ROOT / folder / "__init__.py").exists()
    for file in (ROOT / folder).glob("*.py"):
        for node in ast.walk(TREES[file.relative_to(ROOT)]):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert name.split(".")[0] not in {*others, "methods", "datasets"}, file
                assert not re.match(r"benchmark\.(execution|report|commands|conformance|interface)", name), file


def test_no_module_reaches_itself_by_imports():
    """Lazy ones and those for types included. import-linter says it of rooms, where data and deep are let off."""
    graph = grimp.build_graph("benchmark", cache_dir=None)
    edges = [(one, other) for one in graph.modules for other in graph.find_modules_directly_imported_by(one)]
    assert ("benchmark.interface", "benchmark.report.selection") in edges
    assert not [(one, other) for one, other in edges if graph.find_shortest_chain(other, one)]


def test_the_page_about_the_house_names_every_room_and_every_file_at_its_door():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {f"`{file.parent.name}/`" for file in (ROOT / "benchmark").glob("*/__init__.py")}
    doors = {f"`{file.name}`" for file in (ROOT / "benchmark").glob("*.py") if file.name != "__init__.py"}
    assert not {name for name in rooms | doors if name not in page}


def test_importing_benchmark_costs_no_large_package():
    large = ("torch", "pandas", "matplotlib", "numba", "sklearn", "scipy", "joblib", "dask")
    code = f"import sys, benchmark; print([name for name in {large} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_the_version_stands_once():
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()
    assert sum("__version__ = " in file.read_text(encoding="utf-8") for file in OURS) == 1
    assert (ROOT / "benchmark" / "py.typed").is_file()
