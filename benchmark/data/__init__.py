"""What is on disk -> splits and features: lists, drawn splits, audits, images, weights, feature cache, miniatures.

What is importable from here is what data set plugins are written with. It costs numpy: no torch, no image library.
"""

from benchmark.data.cache import cache_dir, replacing
from benchmark.data.data_root import Piece, find_published, first_file, need_root, refuse_missing
from benchmark.data.dataset_kinds import ListedDataset, NamedDataset, PaperDataset
from benchmark.data.drawn_lists import CLASS_NAMES, DrawnLists, draw_lists, drawing_code
from benchmark.data.feature_file import FeatureFile
from benchmark.data.given_files import given_path, need_file, need_folder, read_bytes, read_text
from benchmark.data.hashing import file_hash, joined_hash, tree_hashes
from benchmark.data.image_index import images_under
from benchmark.data.images import ImageArrays, ImageFiles
from benchmark.data.list_files import read_list
from benchmark.data.list_splits import PARTS, ListSplits, find_lists, read_class_names
from benchmark.data.multi_label_dataset import MultiLabelDataset, OfficialImages
from benchmark.data.names import check_name, file_title
from benchmark.data.option_values import cut_off, whole_number, word, yes_or_no
from benchmark.data.split_drawing import MultiLabelSizes, SingleLabelSizes, class_sizes, draw_queries, draw_training
from benchmark.data.torchvision_dataset import TorchvisionDataset, accepted

__all__ = [
    "CLASS_NAMES",
    "PARTS",
    "DrawnLists",
    "FeatureFile",
    "ImageArrays",
    "ImageFiles",
    "ListSplits",
    "ListedDataset",
    "MultiLabelDataset",
    "MultiLabelSizes",
    "NamedDataset",
    "OfficialImages",
    "PaperDataset",
    "Piece",
    "SingleLabelSizes",
    "TorchvisionDataset",
    "accepted",
    "cache_dir",
    "check_name",
    "class_sizes",
    "cut_off",
    "draw_lists",
    "draw_queries",
    "draw_training",
    "drawing_code",
    "file_hash",
    "file_title",
    "find_lists",
    "find_published",
    "first_file",
    "given_path",
    "images_under",
    "joined_hash",
    "need_file",
    "need_folder",
    "need_root",
    "read_bytes",
    "read_class_names",
    "read_list",
    "read_text",
    "refuse_missing",
    "replacing",
    "tree_hashes",
    "whole_number",
    "word",
    "yes_or_no",
]
