"""`score` reads codes from any customary file, says what is wrong with a bad one, and prints no bare MAP."""

import json
import re

import numpy as np
import pytest

from benchmark import evaluate
from benchmark.commands.main import main

RANDOM = np.random.default_rng(0)
CLASSES, BITS, QUERIES, ITEMS = 6, 12, 30, 400
NUMBERS = {"query": RANDOM.integers(0, CLASSES, QUERIES), "database": np.sort(RANDOM.integers(0, CLASSES, ITEMS))}
CENTRES = RANDOM.normal(size=(CLASSES, BITS))
REAL = {part: CENTRES[numbers] + RANDOM.normal(size=(len(numbers), BITS)) for part, numbers in NUMBERS.items()}
CODES = {part: np.where(values > 0, 1, -1).astype(np.int8) for part, values in REAL.items()}
HOT = {part: np.eye(CLASSES, dtype=bool)[numbers] for part, numbers in NUMBERS.items()}


def words(folder, codes, labels, save=np.save, suffix=".npy"):
    """The command for these arrays, after saving them."""
    found = ["score"]
    for kind, arrays in (("codes", codes), ("labels", labels)):
        for part, array in arrays.items():
            path = folder / f"{part}_{kind}{suffix}"
            save(path, array)
            found += [f"--{part}-{kind}", str(path)]
    return found


def scored(folder, words, *more):
    assert main([*words, *more, "--json", str(folder / "out.json")]) == 0
    return json.loads((folder / "out.json").read_text())


def save_npz(path, array):
    np.savez(path, other=np.zeros(3), **{path.stem: array})


def save_mat(path, array):
    from scipy.io import savemat

    savemat(path, {"thing": array.astype(np.float64)})


def save_pt(path, array):
    import torch

    torch.save(torch.from_numpy(np.ascontiguousarray(array)), path)


@pytest.mark.parametrize(
    ("save", "suffix"), [(np.save, ".npy"), (save_npz, ".npz"), (save_mat, ".mat"), (save_pt, ".pt")]
)
@pytest.mark.parametrize("labels", [NUMBERS, HOT], ids=["numbers", "multi-hot"])
def test_every_kind_of_file_scores_alike(tmp_path, save, suffix, labels):
    found = scored(tmp_path, words(tmp_path, CODES, labels, save, suffix), "--k", "100")
    expected = evaluate(CODES["query"], CODES["database"], NUMBERS["query"], NUMBERS["database"], 100)
    assert found["metrics"]["map"] == pytest.approx(expected.map, abs=1e-12)
    assert found["curves"]["precision"] == pytest.approx(expected.precision_recall[1].tolist())
    if labels is NUMBERS:
        assert found["metrics"] == {**expected.to_dict(), **expected.other_maps()}
        assert found["curves"]["ap"] == expected.ap.tolist()
        assert found["class_map"] == expected.class_map.tolist()


@pytest.mark.parametrize(
    ("change", "more"),
    [
        (lambda codes: codes > 0, []),
        (lambda codes: (codes > 0).astype(float), []),
        (lambda codes: np.packbits(codes > 0, axis=1), ["--bits", str(BITS)]),
        (lambda codes: codes * 0.25, ["--binarize", "sign"]),
    ],
    ids=["bool", "0/1", "packed", "binarized"],
)
def test_every_alphabet_scores_alike(tmp_path, change, more):
    plain = scored(tmp_path, words(tmp_path, CODES, NUMBERS))
    changed = {part: change(codes) for part, codes in CODES.items()}
    assert scored(tmp_path, words(tmp_path, changed, NUMBERS), *more)["metrics"] == plain["metrics"]


@pytest.mark.parametrize("ties", ["expected", "stable", "best", "worst"])
def test_the_table_holds_each_convention(tmp_path, ties, capsys):
    labels = {"query": np.where(NUMBERS["query"] == 0, -1, NUMBERS["query"]), "database": NUMBERS["database"]}
    found = scored(tmp_path, words(tmp_path, CODES, labels), "--k", "5", "--ties", ties)
    arrays = CODES["query"], CODES["database"], labels["query"], labels["database"]
    assert found["metrics"]["map"] == pytest.approx(evaluate(*arrays, 5, ties=ties).map, abs=1e-12)
    assert len({row["map"] for row in found["conventions"]}) > 3
    for row in found["conventions"]:
        rule = {"denominator": row["denominator"], "empty": row["empty"]}
        for which, name in (
            ("expected", "map"),
            ("stable", "map_stable"),
            ("best", "map_best"),
            ("worst", "map_worst"),
        ):
            assert row[name] == pytest.approx(evaluate(*arrays, row["k"], ties=which, **rule).map, abs=1e-12)
    shown = capsys.readouterr().out
    assert "MAP@5" in shown
    assert "MAP " not in shown.replace("MAP@", "")


def test_all_of_the_database_has_its_own_pitfall(tmp_path):
    found = scored(tmp_path, words(tmp_path, CODES, NUMBERS))
    assert [row["k"] for row in found["conventions"]].count(ITEMS - 1) == 1


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float64])
@pytest.mark.parametrize("shape", [(-1,), (-1, 1), (1, -1)], ids=["flat", "column", "row"])
def test_class_numbers_of_any_type_and_shape_score_alike(tmp_path, kind, shape):
    """A9: unsigned labels crashed."""
    plain = scored(tmp_path, words(tmp_path, CODES, NUMBERS))
    changed = {part: numbers.astype(kind).reshape(shape) for part, numbers in NUMBERS.items()}
    assert scored(tmp_path, words(tmp_path, CODES, changed)) == plain


def test_a_column_that_could_be_multi_hot_is_told_in_one_line(tmp_path, capsys):
    """A9: MATLAB saves class numbers as a column; 0 and 1 alone could be one label that rows have or lack."""
    columns = {part: (numbers % 2)[:, None] for part, numbers in NUMBERS.items()}
    flat = {part: column.reshape(-1) for part, column in columns.items()}
    assert scored(tmp_path, words(tmp_path, CODES, columns)) == scored(tmp_path, words(tmp_path, CODES, flat))
    told = capsys.readouterr().err
    assert told.startswith("warning: labels: one column of 0 and 1 is read as class numbers")
    assert told.count("\n") == 1


def test_one_query_with_multi_hot_labels_is_no_row_of_class_numbers(tmp_path):
    codes, hot = CODES | {"query": CODES["query"][:1]}, HOT | {"query": HOT["query"][:1]}
    found = scored(tmp_path, words(tmp_path, codes, hot))
    assert found["metrics"]["map"] == evaluate(codes["query"], codes["database"], hot["query"], hot["database"]).map


def test_multi_label_data_get_graded_scores(tmp_path):
    hot = {part: labels | np.roll(labels, 1, axis=1) for part, labels in HOT.items()}
    found = scored(tmp_path, words(tmp_path, CODES, hot), "--k", "50")["metrics"]
    graded = evaluate(CODES["query"], CODES["database"], hot["query"], hot["database"], 50, graded=True)
    assert found["ndcg"] == pytest.approx(graded.ndcg)
    assert found["acg"] == pytest.approx(graded.acg)


def test_json_can_go_to_the_terminal_and_k_beyond_the_database_is_told(tmp_path, capsys):
    command = words(tmp_path, CODES, NUMBERS)
    assert main([*command, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["sizes"] == {"query": QUERIES, "database": ITEMS, "bits": BITS}
    assert main([*command, "--k", "100000"]) == 0
    assert "more than the database holds" in capsys.readouterr().out


ZEROS = CODES["database"] * (np.arange(BITS) != 3)


@pytest.mark.parametrize(
    ("codes", "labels", "more", "message"),
    [
        ({"query": REAL["query"]}, {}, [], "query codes: .*not binary.*--binarize sign"),
        ({"database": ZEROS}, {}, [], "database codes: 400 zeros among 4800"),
        ({"database": REAL["database"] * np.nan}, {}, [], "database codes: nan at row 0"),
        ({"database": REAL["database"] * np.nan}, {}, ["--binarize", "sign"], "database codes: nan at row 0"),
        ({"database": CODES["database"][:, :8]}, {}, [], "database codes: 8 bits, expected 12"),
        ({"query": CODES["query"][:0]}, {"query": NUMBERS["query"][:0]}, [], "query codes: no rows"),
        ({"database": CODES["database"][:0]}, {"database": NUMBERS["database"][:0]}, [], "database codes: no rows"),
        ({}, {"query": NUMBERS["query"][:5]}, [], "query labels: 5 rows, expected 30"),
        ({}, {"database": NUMBERS["database"][:5]}, [], "database labels: 5 rows, expected 400"),
        ({}, {"query": NUMBERS["query"] + 90}, [], "no query shares a label"),
        ({}, {"query": NUMBERS["query"] * 0.3}, [], "query labels: .*1.5 among them, not integers"),
        ({}, {"query": NUMBERS["query"] + 10**9}, [], "query labels: class number 10000000"),
        ({}, {"query": NUMBERS["query"] - 5}, [], "query labels: class number -5"),
        ({}, {"query": NUMBERS["query"] > 2}, [], "query labels: class numbers of type bool"),
        ({}, {"query": NUMBERS["query"] * np.nan}, [], "query labels: .*nan among them"),
        ({}, {"query": HOT["query"] * 2}, [], "query labels: a multi-hot array may hold 0 and 1"),
        ({}, {"query": HOT["query"][:, :4]}, [], "database labels: class number 5, expected less than 4"),
        ({}, {"database": np.array(3)}, [], "database labels: .*not an array of rows"),
        ({"query": CODES["query"][0]}, {}, [], r"query codes: shape \(12,\), expected \(rows, bits\)"),
        ({"query": CODES["query"][:, :, None]}, {}, [], "query codes: shape"),
        ({"query": np.ones((QUERIES, 600))}, {}, [], "query codes: 600 bits, expected 1 to 512"),
        ({"query": np.array(["a"])}, {}, [], "query_codes.npy: holds <U1, expected numbers"),
        ({"query": np.array([{}])}, {}, [], "query_codes.npy: cannot be read: .*[Oo]bject"),
        ({"query": CODES["query"] * 1j}, {}, [], "query_codes.npy: holds complex128"),
        ({}, {}, ["--k", "0"], "--k: 0"),
        ({}, {}, ["--k", "-3"], "--k: -3"),
        ({}, {}, ["--k", "2.5"], "--k"),
        ({}, {}, ["--n", "0"], "--n: 0"),
        ({}, {}, ["--n", "5", "-1"], "--n: -1"),
        ({}, {}, ["--n"], "--n"),
        ({}, {}, ["--n", "5,10"], "--n"),
        ({}, {}, ["--bits", "0"], "--bits: 0"),
        ({}, {}, ["--bits", "600"], "600 bits, expected 1 to 512"),
        ({}, {}, ["--threads", "0"], "--threads: 0"),
        ({}, {}, ["--json", "nowhere/at/all.json"], "--json"),
        ({}, {}, ["--json", "/"], "--json /: is a folder"),
        ({}, {}, ["--json", "x" * 5000], "--json"),
        ({}, {}, ["--query-codes", "/dev/null"], "/dev/null: not a regular file"),
        ({}, {}, ["--query-codes", "/"], "/: a folder"),
        ({}, {}, ["--bits", "12"], None),
        ({}, {}, ["--bits", "20"], "expected 20 columns for 20 bits, or packed uint8 of 3 columns"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, capsys, codes, labels, more, message):
    code = main([*words(tmp_path, CODES | codes, NUMBERS | labels), *more])
    error = capsys.readouterr().err
    if message is None:
        assert code == 0
        return
    assert code == 2
    assert error.count("\n") == 1
    assert re.search(message, error), error


def test_a_pickle_in_a_pt_file_is_not_run(tmp_path, capsys):
    import torch

    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    command = words(tmp_path, CODES, NUMBERS)
    torch.save({"codes": Evil()}, tmp_path / "evil.pt")
    command[command.index("--query-codes") + 1] = str(tmp_path / "evil.pt")
    assert main(command) == 2
    assert not (tmp_path / "ran").exists()
