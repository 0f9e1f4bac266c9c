"""What deep methods share. Importing this package does not import torch."""

from benchmark.deep.lazy import torch

__all__ = ["torch"]
