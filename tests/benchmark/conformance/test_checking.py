"""How the promises of a plugin are told, one row each."""

import pytest

from benchmark import UsageError, check_method


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
