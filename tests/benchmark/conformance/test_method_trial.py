"""What is slow is done once for all promises."""

from benchmark import check_method
from benchmark.registry import methods


def test_a_method_is_fitted_few_times(monkeypatch):
    """Issue 12: conformance fitted each method 23 times, and once more in a fresh process."""
    fits = []
    cls = methods.get("lsh")
    fit = cls.fit
    monkeypatch.setattr(cls, "fit", lambda self, train: fits.append(self.bits) or fit(self, train))
    assert all(row.kept for row in check_method(cls, raise_first=False))
    assert sorted(fits) == [1, 12, 16, 16, 16, 16, 16, 48]
