"""Packed codes -> the nearest of them: exact scan, lookup within a radius, multi-index hashing; the same by faiss."""

from benchmark.search.exact import ExactScan as ExactScan
from benchmark.search.exact import top as top
from benchmark.search.exact import within as within
from benchmark.search.indexes import KINDS as KINDS
from benchmark.search.indexes import Index as Index
from benchmark.search.indexes import open_index as open_index
from benchmark.search.multi_index import MultiIndex as MultiIndex
from benchmark.search.neighbours import Neighbours as Neighbours
from benchmark.search.table_lookup import TableLookup as TableLookup
