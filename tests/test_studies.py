"""Every study is a run that can be planned: its file has no unknown key, and with its data at hand every cell a key."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from benchmark.commands import run
from benchmark.commands.config_file import with_config
from benchmark.commands.main import Parser, main

ROOT = Path(__file__).parents[1]
STUDIES = sorted((ROOT / "studies").glob("*/*.toml"))
NAMES = [str(path.relative_to(ROOT / "studies")) for path in STUDIES]


def test_there_are_studies() -> None:
    assert len(STUDIES) >= 7
    names = [tomllib.loads(path.read_text())["name"] for path in STUDIES]
    assert len(set(names)) == len(names), "two studies write one report"


@pytest.mark.parametrize("path", STUDIES, ids=NAMES)
def test_a_study_says_what_flags_can_say_and_its_page_tells_of_it(path: Path) -> None:
    parser, of_a_run = Parser(), Parser()
    run.add_arguments(parser)
    run.add_arguments(of_a_run)
    found = parser.parse_args(with_config(["--config", str(path)], parser, of_a_run))
    assert found.name == f"{path.parent.name}-{path.stem}"
    assert f"[{path.name}]({path.name})" in (path.parent / "README.md").read_text()


@pytest.mark.parametrize("path", STUDIES, ids=NAMES)
def test_a_study_plans_its_cells(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("HASHBENCH_DATA", raising=False)
    content = tomllib.loads(path.read_text())
    places = [name.partition(":")[2] for name in content["datasets"] if ":" in name]
    absent = [place for place in [*places, *filter(None, [content.get("weights")])] if not Path(place).exists()]
    if absent:
        pytest.skip(f"{absent[0]} is absent: python performance/real_data.py files (and lists) writes the sets")
    assert main(["--config", str(path), "--dry-run"]) == 0
    told = capsys.readouterr().out
    cells = re.match(r"(\d+) cells", told)
    assert cells is not None
    assert int(cells[1]) >= len(content["bits"]) * len(content["seeds"]) * (len(content["methods"]) - 1)


def test_real_data_says_what_is_absent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "performance"))
    import real_data

    monkeypatch.setattr(real_data, "DATA", Path("no such folder"))
    monkeypatch.setattr("sys.argv", ["real_data.py", "files"])
    with pytest.raises(SystemExit) as stopped:
        real_data.main()
    assert stopped.value.code == 2
    assert "shared/data beside the checkout" in capsys.readouterr().err
