"""How the promises of a plugin are told, one row each."""

import pytest

from benchmark import UsageError, check_dataset, check_method
from benchmark.registry import datasets


def test_an_error_names_the_line_of_the_file(own_method):
    cls = own_method('print("a line of its own")', "1 / 0")
    rows = {row.name: row for row in check_method(cls, raise_first=False)}
    assert rows["fits_on_what_it_declared"].message.endswith("ZeroDivisionError: division by zero (mine.py line 12)")


def test_rows_are_reported_as_they_come():
    heard = []
    assert check_method("lsh", report=heard.append) == heard


def test_an_unregistered_class_is_told_how_to_register():
    with pytest.raises(UsageError, match="register_method"):
        check_method(object)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"dataset": object}, "register_dataset"),
        ({"dataset": "nothing"}, "unknown dataset 'nothing'"),
        ({"dataset": "features"}, "needs a path"),
        ({"dataset": "coco-mini", "options": {"colour": 1}}, "no parameter 'colour'"),
    ],
)
def test_what_cannot_be_built_is_a_usage_error(words, told):
    with pytest.raises(UsageError, match=told):
        check_dataset(**words)


def test_a_class_whose_data_are_missing_is_not_checked_by_its_stand_in():
    with pytest.raises(UsageError, match="--data-root"):
        check_dataset(datasets.get("coco"))
