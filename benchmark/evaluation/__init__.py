"""Codes and labels -> counts -> scores. Needs numpy only, numba where it pays; knows no method and no data set."""
