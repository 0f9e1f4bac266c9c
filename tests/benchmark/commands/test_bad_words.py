"""Bad words: flags, commands, names of methods and data sets, options, parameters, profiles, weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from benchmark.deep.profile import load_profile
from benchmark.execution.grid import training_id
from benchmark.registry import get_dataset
from tests.benchmark.commands.conftest import (
    HUGE,
    LONG,
    PICTURES,
    Case,
    Place,
    Setup,
    bad,
    cases,
    cut,
    fifo,
    fine,
    finished,
    folder,
    link,
    lists,
    moved,
    npz,
    pairs,
    run,
    split,
    text,
    torch_file,
)

# Values of flags: what is no number, and numbers that are out of bounds

NO_WHOLE_NUMBERS = ("0", "-1", "1.5", "nan", "inf", "1e400", "x", "", "0x10")

FLAGS = [
    *(bad(f"bits {value!r}", run(["--bits", value]), "--bits") for value in NO_WHOLE_NUMBERS),
    *(bad(f"bits {value}", run(["--bits", str(value)]), str(value)) for value in (513, 10**9, HUGE)),
    bad("bits 1_000", run("--bits 1_000"), "1000"),
    bad("bits without a value", ["run", "--bits"], "--bits"),
    bad("one of several bits", run("--bits 8 16 no"), "no"),
    fine("bits twice count once", run("--bits 16 16"), "1 cell:"),
    fine("bits between spaces", run(["--bits", " 5 "]), "5 bits"),
    fine("bits in other digits", run("--bits ١"), " 1 bits"),
    fine("512 bits", run("--bits 512"), "512 bits"),
    *(bad(f"seeds {value!r}", run(["--seeds", value]), "--seeds") for value in ("1.5", "nan", "x", "", "1e3")),
    *(bad(f"seeds {value}", run(["--seeds", str(value)]), str(value)) for value in (-1, HUGE)),
    fine("seeds twice count once", run("--seeds 0 0"), "1 cell:"),
    fine("a seed with an underscore", run("--seeds 1_000"), "seed 1000"),
    *(bad(f"jobs {value!r}", run(["--jobs", value]), "--jobs") for value in NO_WHOLE_NUMBERS),
    *(bad(f"threads {value!r}", run(["--threads", value]), "--threads") for value in NO_WHOLE_NUMBERS[:4]),
    *(bad(f"timeout {value!r}", run([f"--timeout={value}"]), "--timeout")
      for value in ("nan", "inf", "-inf", "-1", "0", "1e400", "x", "", "5s")),
    *(bad(f"memory {value!r}", run([f"--memory={value}"]), "--memory")
      for value in ("-5G", "0", "nan", "inf", "1e400G", "much", "", "G", "5GG", "5T", "-1", "4 G M")),
    fine("memory in small letters", run("--memory 4g"), "1 cell:"),
    *(bad(f"dask {value!r}", run(["--dask", value]), "--dask") for value in ("local:0", "local:-1", "local:x", "")),
    bad("force and only-failed", run("--force --only-failed"), "--only-failed"),
    *(bad(f"tune trials {value}", f"tune --datasets features:x.npz --methods lsh --trials={value}", "trials")
      for value in ("0", "-1", "1.5", "nan", "x")),
    *(bad(f"tune folds {value}", f"tune --datasets features:x.npz --methods lsh --folds={value}", "folds")
      for value in ("0", "1", "-3", "x", "13")),
    bad("tune a sweep", "tune --datasets features:x.npz --methods itq --sweep itq.iterations 1", "--sweep"),
    bad("tune what is tuned", "tune --datasets features:x.npz --methods itq --tuned t.json", "--tuned"),
    bad("tune 513 bits", "tune --datasets features:x.npz --methods lsh --bits 513", "513"),
    bad("tune timeout nan", "tune --datasets features:x.npz --methods lsh --timeout nan", "--timeout"),
]  # fmt: skip

COMMANDS = [
    bad("no such command", "frobnicate", "frobnicate"),
    bad("no such flag", "run --frobnicate", "--frobnicate"),
    bad("an empty word", ["run", ""], "unrecognized"),
    bad("a word of 5,000 characters", ["run", LONG], "nnnnn"),
    bad("a word of two lines", ["run", "one\ntwo"], "two"),
    bad("run twice", "run run", "arguments: run"),
    bad("list something", "list something", "something"),
    bad("check nothing", "check", "FILE"),
    bad("check an empty name", ["check", ""], "file"),
    bad("check a file that is not there", "check nowhere.py", "nowhere.py"),
    bad("check an unknown name", "check LSH", "did you mean 'lsh'"),
    bad("check a folder", "check things", "things", folder("things")),
    bad("check a folder called .py", "check d.py", "d.py", folder("d.py")),
    bad("check text", "check notes.txt", "notes.txt", text("notes.txt", "hello")),
    bad("check a file without a method", "check empty.py", "empty.py", text("empty.py", "")),
    bad("check a pipe", "check pipe.py", "pipe.py", fifo("pipe.py")),
    bad("check a name of 5,000 characters", ["check", f"{LONG}.py"], "nnnnn"),
    bad("check below a file", "check x.npz/m.py", "m.py"),
    bad("audit nothing", "audit", "no data set"),
    bad("audit an unknown name", "audit cocco", "did you mean 'coco'"),
    bad("prepare nothing", "prepare", "no data set"),
    bad("prepare an unknown name", "prepare nuss", "did you mean 'nus'"),
    bad("score nothing", "score", "--query-codes"),
    bad("compare one", "compare results", "required: B"),
    bad("why nothing matches", "why zebra --datasets features:x.npz --methods lsh --bits 8", "zebra"),
]

# Which methods, which data sets

NAMES = [
    bad("method in capitals", run(methods="LSH"), "did you mean 'lsh'"),
    bad("method misspelt", run(methods="itqq"), "did you mean 'itq'"),
    bad("methods with a comma", run(methods="lsh,itq"), "lsh,itq"),
    bad("method without a name", run(["--methods", ""]), "method ''"),
    bad("method of two lines", run(["--methods", "l\nsh"]), "sh"),
    bad("method of 5,000 characters", run(["--methods", LONG]), "nnnnn"),
    bad("methods without a value", ["run", "--methods"], "--methods"),
    bad("one of several methods", run(methods="lsh nope"), "nope"),
    *(bad(f"method {name!r}", run(["--methods", name]), name[1:])
      for name in ("$x$", "a/b", "[/x]", "=1+1", "@x", "\u202edna", "жук")),
    fine("methods twice count once", run(methods="lsh lsh"), "1 cell:"),
    bad("data set without a name", run(datasets=[""]), "dataset ''"),
    bad("data set unknown", run(datasets=["[/x]"]), "[/x]"),
    bad("data set misspelt", run(datasets=["feature:x.npz"]), "did you mean 'features'"),
    bad("data set of 5,000 characters", run(datasets=[LONG]), "nnnnn"),
    *(bad(f"{kind} without a path", run(datasets=[f"{kind}:"]), f"{kind}:")
      for kind in ("features", "lists", "folder", "pairs")),
    bad("features without a colon", run(datasets=["features"]), "features:FILE.npz"),
    bad("a path where none is taken", run(datasets=["imagenet-mini:x"]), "imagenet-mini"),
    fine("data set twice counts once", run(datasets=["features:x.npz", "features:x.npz"]), "1 cell:"),
    fine("data set under two paths counts once", run(datasets=["features:x.npz", "features:./x.npz"]), "1 cell:"),
    *(bad(f"{kind}: that is not there", run(datasets=[f"{kind}:nowhere"]), "nowhere")
      for kind in ("features", "lists", "folder", "pairs")),
    *(bad(f"{kind}: below a file", run(datasets=[f"{kind}:x.npz/y"]), "x.npz/y")
      for kind in ("features", "lists", "folder", "pairs")),
    *(bad(f"{kind}: of 5,000 characters", run(datasets=[f"{kind}:{LONG}"]), "nnnnn")
      for kind in ("features", "lists", "folder", "pairs")),
    *(bad(f"{kind}: a link to itself", run(datasets=[f"{kind}:loop"]), "loop", link("loop", "loop"))
      for kind in ("features", "lists", "folder", "pairs")),
    *(bad(f"{kind}: a pipe", run(datasets=[f"{kind}:pipe"]), "pipe", fifo("pipe"))
      for kind in ("features", "lists", "folder", "pairs")),
    *(bad(f"{kind}: a folder where a file is meant", run(datasets=[f"{kind}:d.npz"]), "d.npz", folder("d.npz"))
      for kind in ("features", "pairs")),
    *(bad(f"{kind}: a file where a folder is meant", run(datasets=[f"{kind}:x.npz"]), "x.npz")
      for kind in ("lists", "folder")),
    bad("features: of two lines", run(datasets=["features:no\nsuch.npz"]), "such.npz"),
    bad("features: that cannot be read", run(datasets=["features:/proc/self/mem"]), "mem cannot be read"),
    bad("pairs: that cannot be read", run(datasets=["pairs:/proc/self/mem"]), "/proc/"),
    bad("audit features: below a file", "audit features:x.npz/y", "x.npz/y"),
    bad("audit features: a folder", "audit features:things", "things", folder("things")),
    bad("prepare folder: a file", "prepare folder:x.npz", "x.npz"),
    bad("report of data that is not there", "report --datasets features:nowhere.npz", "nowhere.npz", finished()),
    *(fine(f"a features file called {name!r}", run(datasets=[f"features:{name}.npz"]), "8 bits",
           moved("x.npz", f"{name}.npz"))
      for name in ("$x_{$", "[bold]", "=1+1", "-x", "@x", "a b", "жук", "\u202edna", "imagenet", "a:b")),
    bad("a features file of two lines", run(datasets=["features:two\nlines.npz"]), "lines",
        moved("x.npz", "two\nlines.npz")),
    bad("data root that is not there", run("--data-root nowhere"), "nowhere"),
    bad("data root that is a file", run("--data-root x.npz"), "x.npz"),
    bad("data root below a file", run("--data-root x.npz/d"), "x.npz/d"),
    bad("data root of 5,000 characters", run(["--data-root", LONG]), "nnnnn"),
    bad("data root that is a link to itself", run("--data-root loop"), "loop", link("loop", "loop")),
    bad("data root without the data", run("--data-root .", datasets=["coco"]), "coco"),
    bad("data root of the environment", run(), "nowhere", env={"HASHBENCH_DATA": "nowhere"}),
    bad("cache below a file", run(), "HASHBENCH_CACHE", env={"HASHBENCH_CACHE": "x.npz/cache"}),
    bad("cache that is a file", run(), "HASHBENCH_CACHE", env={"HASHBENCH_CACHE": "x.npz"}),
    bad("cache where none can be made", run(), "HASHBENCH_CACHE", env={"HASHBENCH_CACHE": "/proc/none"}),
]  # fmt: skip

# Options of data sets


def option(word: str, kind: str = "folder", argument: str = "d") -> list[str]:
    return run(["--option", word], datasets=[f"{kind}:{argument}"])


OPTIONS = [
    bad("option without a value", option("folder.map_cutoff"), "folder.map_cutoff", PICTURES),
    bad("option without a data set", option("map_cutoff=5"), "map_cutoff=5", PICTURES),
    bad("option of another data set", option("lists.map_cutoff=5"), "lists", PICTURES),
    bad("option without a name", option("folder.=5"), "folder", PICTURES),
    bad("option unknown", option("folder.cutoff=5"), "cutoff", PICTURES),
    bad("option of a data set without any", option("features.k=5", "features", "x.npz"), "'k'"),
    bad("option twice", run("--option folder.map_cutoff=5 --option folder.map_cutoff=6", datasets=["folder:d"]),
        "map_cutoff", PICTURES),
    *(bad(f"map_cutoff {value}", option(f"folder.map_cutoff={value}"), "map_cutoff", PICTURES)
      for value in ("-1", "1.5", "NaN", "Infinity", "1e400", "many", "true", "null", "[5]", "")),
    *(bad(f"queries_per_class {value}", option(f"folder.queries_per_class={value}"), "queries_per_class", PICTURES)
      for value in ("0", "-1", "1.5", "NaN", "many", "true")),
    *(bad(f"split_seed {value}", option(f"folder.split_seed={value}"), "split_seed", PICTURES)
      for value in ("1.5", "NaN", "x", "null")),
    *(bad(f"skip_broken {value}", option(f"folder.skip_broken={value}"), "skip_broken", PICTURES)
      for value in ("maybe", "2", "null")),
    bad("imbalance without a size", option("folder.imbalance=paper"), "train_size", PICTURES),
    *(bad(f"imbalance {value}", run(f"--option folder.train_size=4 --option folder.imbalance={value}",
                                    datasets=["folder:d"]), "imbalance", PICTURES)
      for value in ("none", "5", "exponential", "exponential:0", "exponential:nan", "exponential:-2",
                    "exponential:1e400", "paper:3", "NaN", "true")),
    *(bad(f"train_size {value}", run(f"--option folder.train_size={value} --option folder.imbalance=balanced",
                                     datasets=["folder:d"]), "train_size", PICTURES)
      for value in ("-1", "1.5", "many", "1e400")),
    *(bad(f"lists map_cutoff {value}", option(f"lists.map_cutoff={value}", "lists", "l"), "map_cutoff", lists())
      for value in ("-1", "x", "NaN")),
    bad("drop_overlap 7", option("lists.drop_overlap=7", "lists", "l"), "drop_overlap", lists()),
    *(bad(f"pairs map_cutoff {value}", option(f"pairs.map_cutoff={value}", "pairs", "p.npz"), "map_cutoff", pairs())
      for value in ("-5", "x")),
    *(fine(f"map_cutoff {value}, all", option(f"lists.map_cutoff={value}", "lists", "l"), "1 cell:", lists())
      for value in ("0", "all")),
    fine("a cut-off beyond the database", option("lists.map_cutoff=1000000", "lists", "l"), "1 cell:", lists()),
]  # fmt: skip

# Parameters of methods: --set, --sweep, --tuned

MINIATURE = "run --datasets imagenet --methods lsh --bits 16 --dry-run --sweep"
NO_NUMBERS = ("NaN", "Infinity", "-Infinity", "1e400", "many", "true", "null", "[1]", '{"a":1}', "", "nan", '"5"')


def tuned(content: str | bytes) -> Setup:
    return text("t.json", content)


def winner(params: str, method: str = "itq", revision: str = "") -> Setup:
    """What `tune` might have found for x.npz, or for data of another revision."""

    def write(place: Place) -> None:
        found = revision or get_dataset(f"features:{place.path('x.npz')}").revision
        under = training_id(load_profile("quick"))
        names = f'"method": "{method}", "revision": "{found}", "training": "{under}", "bits": 16'
        tuned(f'{{"winners": [{{{names}, "params": {params}}}]}}')(place)

    return write


PARAMETERS = [
    bad("set without a method", run("--set gamma=1"), "gamma=1"),
    bad("set without a value", run("--set lsh.scaling"), "lsh.scaling"),
    bad("set without a name", run("--set lsh.=1"), "lsh"),
    bad("set of no method", run("--set .scaling=l2"), "scaling"),
    bad("set an unknown parameter", run("--set lsh.gama=1"), "gama"),
    bad("set of an unknown method", run("--set lhs.scaling=l2"), "lhs"),
    bad("set of a method that is not selected", run("--set itq.iterations=5"), "itq"),
    bad("set twice", run("--set itq.iterations=5 --set itq.iterations=6", "itq"), "itq.iterations"),
    *(bad(f"set iterations {value}", run(["--set", f"itq.iterations={value}"], "itq"), "iterations")
      for value in (*NO_NUMBERS, "1.5")),
    *(bad(f"set gamma {value}", run(["--set", f"dph.gamma={value}"], "dph"), "gamma") for value in NO_NUMBERS),
    *(bad(f"set scaling {value}", run(["--set", f"lsh.scaling={value}"]), "scaling")
      for value in ("5", "null", "true", "[1]", "sideways", "$x$", "two\nlines", LONG)),
    bad("set a mode that does not exist", run("--set dph.mode=other", "dph"), "mode"),
    bad("set three layers", run("--set agh.layers=3", "agh"), "layers"),
    fine("set the default", run("--set itq.iterations=50", "itq"), "itq x"),
    fine("set the default as a real number", run("--set itq.iterations=50.0", "itq"), "itq x"),
    fine("set none where none is allowed", run("--set ksh.width=null", "ksh"), "ksh x"),
    bad("why with an unknown parameter", "why --datasets features:x.npz --methods lsh --set lsh.gama=1", "gama"),
    bad("tune with an unknown parameter", "tune --datasets features:x.npz --methods lsh --set lsh.gama=1", "gama"),
    bad("tune with NaN", "tune --datasets features:x.npz --methods itq --set itq.iterations=NaN", "iterations"),
    bad("sweep without values", run("--sweep itq.iterations", "itq"), "--sweep"),
    bad("sweep without a name", run("--sweep itq 1 2", "itq"), "--sweep"),
    bad("sweep of another method", run("--sweep itq.iterations 1 2"), "itq"),
    bad("sweep of an unknown parameter", run("--sweep itq.rounds 1 2", "itq"), "rounds"),
    bad("sweep of an empty word", run(["--sweep", "", "1"], "itq"), "--sweep"),
    *(bad(f"sweep over {value}", run(["--sweep", "itq.iterations", "5", value], "itq"), "iterations")
      for value in ("NaN", "Infinity", "1e400", "many", "null", "[1]", "1.5", "")),
    fine("sweep twice over one value", run("--sweep itq.iterations 10 10", "itq"), "2 cells"),
    fine("sweep over 10 and 10.0", run("--sweep itq.iterations 10 10.0", "itq"), "2 cells"),
    bad("sweep twice", run("--sweep itq.iterations 5 --sweep itq.scaling center", "itq"), "at once"),
    bad("sweep of a data set that is not in the run", run("--sweep nus.imbalance paper"), "not among --datasets"),
    bad("sweep of an unknown parameter of a data set", f"{MINIATURE} imagenet.skew paper", "no parameter 'skew'"),
    *(bad(f"sweep of a data set over {value}", f"{MINIATURE} imagenet.imbalance balanced {value}", "imbalance")
      for value in ("5", "x", "exponential:0", "exponential:nan", "balanced:2", "null", "[1]")),
    bad("sweep of where data lie", f"{MINIATURE} imagenet.data_root x", "--data-root"),
    bad("option of where data lie", run("--option features.data_root=x"), "--data-root"),
    fine("sweep of a data set", f"{MINIATURE} imagenet.imbalance balanced paper balanced", "2 cells"),
    fine("sweep of a data set by other values", f"{MINIATURE} imagenet.imbalance balanced groups", "3 cells"),
    bad("tuned that is not there", run("--tuned t.json"), "t.json"),
    bad("tuned that is a folder", run("--tuned t.json"), "t.json", folder("t.json")),
    bad("tuned below a file", run("--tuned x.npz/t.json"), "x.npz/t.json"),
    bad("tuned of 5,000 characters", run(["--tuned", LONG]), "nnnnn"),
    bad("tuned that is a link to itself", run("--tuned loop"), "loop", link("loop", "loop")),
    bad("tuned that is a pipe", run("--tuned t.json"), "t.json", fifo("t.json")),
    *(bad(f"tuned: {name}", run("--tuned t.json", "itq"), "t.json", tuned(content)) for name, content in {
        "empty": "", "no JSON": "hello", "not UTF-8": b"\xff\xfe{}", "a list": "[]", "a number": "5", "null": "null",
        "no winners": "{}", "winners a word": '{"winners": "all"}', "winners of numbers": '{"winners": [1, 2]}',
        "no parameters": '{"winners": [{"method": "itq", "dataset": "x"}]}',
        "parameters a list": '{"winners": [{"method": "itq", "dataset": "x", "params": [1]}]}',
        "deep": "[" * 100_000,
    }.items()),
    *(bad(f"tuned: iterations {value}", run("--tuned t.json", "itq"), "iterations",
          winner(f'{{"iterations": {value}}}'))
      for value in ("NaN", "Infinity", "1e400", '"many"', "null", "1.5", "true", "[1]")),
    bad("tuned: unknown parameter", run("--tuned t.json", "itq"), "rounds", winner('{"rounds": 5}')),
    bad("tuned: another method", run("--tuned t.json", "itq"), "itq", winner("{}", "sh")),
    bad("tuned: another data set", run("--tuned t.json", "itq"), "'x'", winner("{}", revision="y")),
    bad("tuned: learning rate NaN", run("--tuned t.json", "dph"), "learning_rate",
        winner('{"learning_rate": NaN}', "dph")),
    bad("tuned: learning rate below 0", run("--tuned t.json", "dph"), "learning_rate",
        winner('{"learning_rate": -1}', "dph")),
    bad("tuned: twice", run("--tuned t.json --untuned", "itq"), "--untuned", winner("{}")),
    bad("tune and tuned", run("--tuned t.json --tune", "itq"), "--tune", winner("{}")),
    *(bad(f"set weight_decay {value}", run(["--set", f"dph.weight_decay={value}"], "dph"), "weight_decay")
      for value in ("-1", "1e9", "x", "true")),
    bad("set weight_decay of a method without a network", run("--set itq.weight_decay=1", "itq"), "weight_decay"),
    *(bad(f"set {name} below its least", run(["--set", f"{name}=-1"], name.partition(".")[0]), "or more")
      for name in ("itq.iterations", "ksh.anchors", "sdh.ridge", "dph.gamma", "dnnh.width", "cnnh.sweeps")),
    bad("no trial", run("--tune --trials 0"), "--trials"),
    bad("one fold", run("--tune --folds 1"), "--folds"),
    fine("tuned: the defaults", run("--tuned t.json", "itq"), "itq x", winner("{}")),
]  # fmt: skip

# Profiles


def profile(name: str, content: str | bytes, told: str = "") -> Case:
    return bad(f"profile: {name}", run("--profile p.toml", "dph"), told or "p.toml", text("p.toml", content))


PROFILES = [
    bad("profile that is not there", run("--profile p.toml"), "p.toml"),
    bad("profile unknown", run("--profile QUICK"), "QUICK"),
    bad("profile without a name", run(["--profile="]), "profile"),
    bad("profile that is a folder", run("--profile p.toml"), "p.toml", folder("p.toml")),
    bad("profile that is a pipe", run("--profile p.toml"), "p.toml", fifo("p.toml")),
    bad("profile below a file", run("--profile x.npz/p.toml"), "p.toml"),
    bad("profile of 5,000 characters", run(["--profile", LONG]), "nnnnn"),
    bad("profile that cannot be read", run("--profile /proc/self/mem"), "/proc/self/mem"),
    profile("no TOML", "[training\nsteps"),
    profile("not UTF-8", b'[training]\ntrain = "\xff"'),
    profile("a zero byte", b"\0"),
    profile("UTF-16", "[training]\nsteps = 5\n".encode("utf-16")),
    profile("another table", "[method]\nx = 1", "method"),
    profile("no table", "steps = 5", "steps"),
    profile("training a number", "training = 5", "training"),
    profile("training a list", "[[training]]\nsteps = 5", "training"),
    profile("unknown key", "[training]\nstep = 5", "step"),
    profile("key twice", "[training]\nsteps = 5\nsteps = 6"),
    *(profile(f"{key} = {value}", f"[training]\n{key} = {value}", key) for key, values in {
        "steps": ("0", "-1", "1.5", "nan", '"many"', "true", "[5]", "1979-05-27"),
        "batch": ("0", "-8", "2.5"),
        "learning_rate": ("nan", "inf", "1e400", "-1.0", '"fast"', "true"),
        "momentum": ("nan", "-0.1", "1.5"),
        "weight_decay": ("nan", "-1.0", "inf"),
        "decay": ("nan", "-1.0"), "decay_every": ("0",),
        "hash_rate": ("nan", "-1.0"), "deviation": ("-1.0", "inf"),
        "resize": ("-1",), "crop": ("-1",), "encode_batch": ("0",), "num_workers": ("-1",),
        "train": ('"none"', "3"), "augment": ("1", '"yes"'), "device": ('"tpu"', "0"),
        "backbone": ('"resnet-fifty"', "5"), "weights": ('"nowhere.pth"', "1"),
    }.items() for value in values),
    profile("a crop larger than its image", "[training]\nresize = 32\ncrop = 64", "crop"),
    fine("profile: empty", run("--profile p.toml"), "1 cell:", text("p.toml", "")),
    fine("profile: a whole number as rate", run("--profile p.toml"), "1 cell:",
         text("p.toml", "[training]\nlearning_rate = 1")),
]  # fmt: skip

# Backbones and weights


def weights(name: str, file: str, *given: Setup, told: str = "", more: str = "--backbone alexnet") -> Case:
    words = run(["--weights", file, *split(more)], datasets=["folder:d"])
    return bad(f"weights: {name}", words, told or file, PICTURES, *given, slow=bool(given))  # the network is built


WEIGHTS = [
    bad("backbone unknown", run("--backbone alexnett", datasets=["folder:d"]), "did you mean 'alexnet'", PICTURES),
    bad("backbone without a name", run(["--backbone", ""], datasets=["folder:d"]), "backbone", PICTURES),
    bad(
        "backbone that detects",
        run("--backbone fasterrcnn_resnet50_fpn", datasets=["folder:d"]),
        "fasterrcnn_resnet50_fpn",
        PICTURES,
    ),
    bad("backbone of 5,000 characters", run(["--backbone", LONG], datasets=["folder:d"]), "nnnnn", PICTURES),
    *(bad(f"a {flag} that no data set uses", run([f"--{flag}", value]), f"--{flag} {value}: none of --datasets")
      for flag, value in {"backbone": "alexnet", "weights": "nowhere.pth"}.items()),
    fine("a backbone that one of two data sets uses",
         run("--backbone mini-cnn", datasets=["features:x.npz", "folder:d"]), "2 cells", PICTURES),
    bad("prepare with an unknown backbone", "prepare folder:d --backbone nope", "nope", PICTURES),
    weights("not there", "nowhere.pth"),
    weights("in small letters", "imagenet1k_v1"),
    weights("a name that torchvision lacks", "IMAGENET9K_V1"),
    weights("a folder", "w.pth", folder("w.pth")),
    weights("a pipe", "w.pth", fifo("w.pth")),
    weights("below a file", "x.npz/w.pth"),
    weights("of 5,000 characters", f"{LONG}.pth", told="nnnnn"),
    weights("an unknown suffix", "./w.txt", text("w.txt", "hello"), told="w.txt"),
    weights("text", "w.pth", text("w.pth", "hello")),
    weights("empty", "w.pth", text("w.pth", "")),
    weights("a pickle that runs code", "w.pth", text("w.pth", b"cos\nsystem\n(S'touch owned'\ntR.")),
    weights("a list", "w.pth", torch_file("w.pth", lambda torch: [torch.zeros(1)])),
    weights("no npz", "w.npz", text("w.npz", "hello")),
    weights("objects", "w.npz", npz("w.npz", a=np.array([{}, None], object))),
    weights("of another network", "w.npz", npz("w.npz", conv=np.zeros(3, np.float32))),
    weights("not finite", "w.npz", npz("w.npz", **{"features.0.bias": np.full(64, np.nan, np.float32)})),
    weights("cut short", "w.npz", npz("w.npz", a=np.zeros(1000)), cut("w.npz")),
    weights("for the miniature", "w.npz", npz("w.npz", a=np.zeros(3)), more="--backbone mini-cnn", told="mini-cnn"),
]  # fmt: skip


@pytest.mark.parametrize("case", cases([*FLAGS, *COMMANDS, *NAMES, *OPTIONS, *PARAMETERS, *PROFILES, *WEIGHTS]))
def test_bad_words_are_told_in_a_line_or_understood(case: Case, tell: Callable[[Case], None]) -> None:
    tell(case)


def test_there_are_enough_cases() -> None:
    assert sum(not one.slow for one in (*FLAGS, *COMMANDS, *NAMES, *OPTIONS, *PARAMETERS, *PROFILES, *WEIGHTS)) >= 200
