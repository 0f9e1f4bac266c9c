"""Placeholder until the checks are written (next commit)."""

from typing import Any


def check_method(cls: Any) -> Any:
    return cls


def check_dataset(dataset: Any) -> Any:
    return dataset
