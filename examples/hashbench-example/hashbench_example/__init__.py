"""A method and a data set for hashbench; found by the entry points in pyproject.toml."""
