"""The main job: `python run_all.py --datasets imagenet nus coco`. Everything is in benchmark.cli."""

import sys

from benchmark.cli import main

if __name__ == "__main__":
    sys.exit(main())
