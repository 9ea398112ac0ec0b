"""Small data sets in the layouts of the releases, for tests."""

import io
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image

TEXTS = ("good film", "bad film", "a film, good", "no")


def cifar(folder: Path, records: int = 4, seed: int = 0) -> None:
    """The six files of the binary version, with few records."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    for name in [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]:
        rows = random.integers(0, 256, (records, 3073), dtype=np.uint8)
        rows[:, 0] = np.arange(records) % 10
        (folder / name).write_bytes(rows.tobytes())


def grey_npz(folder: Path, train: int = 60, test: int = 10, seed: int = 0, **changes) -> None:
    """cifar10_gray_jpeg.npz, class-sorted on purpose."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    arrays = {
        "x_train": random.integers(0, 256, (train, 32, 32), dtype=np.uint8),
        "y_train": np.sort(np.arange(train) % 10).astype(np.uint8),
        "x_test": random.integers(0, 256, (test, 32, 32), dtype=np.uint8),
        "y_test": (np.arange(test) % 10).astype(np.uint8),
    }
    np.savez_compressed(folder / "cifar10_gray_jpeg.npz", **(arrays | changes))


LISTOPS_ROWS = (("( ( ( [MAX 2 ) 9 ) ] )", 9), ("( ( ( ( [SM 1 ) 2 ) 9 ) ] )", 2), ("7", 7))


def listops(folder: Path, end: str = "\r\n", header: str = "Source\tTarget", rows=LISTOPS_ROWS) -> None:
    """The three files of ListOps."""
    folder.mkdir(parents=True, exist_ok=True)
    swapped = header.startswith("Target")
    for name in ("basic_train.tsv", "basic_val.tsv", "basic_test.tsv"):
        lines = [header, *(f"{value}\t{source}" if swapped else f"{source}\t{value}" for source, value in rows)]
        (folder / name).write_bytes("".join(line + end for line in lines).encode())


def reviews(repeat: int = 5, secret: str = "") -> dict[str, str]:
    """Names and texts of reviews in the layout of aclImdb; ``secret`` characters occur in unsup alone."""
    found = {"aclImdb/README": "read me"}
    for split in ("train", "test"):
        for number in range(repeat):
            found[f"aclImdb/{split}/pos/{number}_9.txt"] = f"{TEXTS[number % 4]} {number} é"
            found[f"aclImdb/{split}/neg/{number}_2.txt"] = f"{TEXTS[(number + 1) % 4]} {number} <br />"
    for number in range(30):
        found[f"aclImdb/train/unsup/{number}_0.txt"] = "unlabeled " + secret
    return found


def imdb_folder(root: Path, **options) -> None:
    """The unpacked reviews."""
    for name, text in reviews(**options).items():
        path = root / "imdb" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def imdb_archive(path: Path, **options) -> None:
    """The archive of the reviews, test before train."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, text in sorted(reviews(**options).items(), reverse=True):
            content = text.encode()
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


AAN_ROWS = (
    ("1", "a", "b", 'a "quoted text', "another"),
    ("0.0", "c", "d", "b'bytes\\n'", 'b"more \\xe2\\x80\\x99"'),
    ("1.0", "e", "f", "x" * 30, "y"),
    ("0", "g", "h", "short", "z" * 12),
)


def aan(folder: Path, rows=AAN_ROWS, end: str = "\n") -> None:
    """The three files of Retrieval."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "eval", "test"):
        text = "".join("\t".join(row) + end for row in rows)
        (folder / f"new_aan_pairs.{part}.tsv").write_bytes(text.encode())


def pathfinder(root: Path, images: int = 12, level: str = "curv_contour_length_14", as_array: bool = False) -> Path:
    """A level of PathFinder with random images in two folders."""
    folder, random = root / "pathfinder32" / level, np.random.default_rng(0)
    (folder / "metadata").mkdir(parents=True)
    for batch in (2, 10):  # in the order of numbers, not of text
        lines = []
        (folder / "imgs" / str(batch)).mkdir(parents=True)
        for number in range(images // 2):
            pixels = random.integers(0, 256, (32, 32), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / f"imgs/{batch}/sample_{number}.png")
            lines.append([f"imgs/{batch}", f"sample_{number}.png", str(number), str(number % 2), "1.0", "14"])
        file = folder / "metadata" / f"{batch}.npy"
        if as_array:
            np.save(file, np.array(lines))
        else:
            file.write_text("".join(" ".join(line) + "\n" for line in lines))
    return folder


def ucr(root: Path, name: str = "Toy", *, ts: bool = False, train=None, test=None) -> None:
    """TRAIN and TEST of a UCR set from lists of (label, values) written as text."""
    rows = train or [("-1", "1 2 3 4"), ("1", "4 3 2 1"), ("-1", "1 1 2 2"), ("1", "5 4 1 0"), ("1", "2 1 1 0")]
    for part, series in (("TRAIN", rows), ("TEST", test or rows)):
        folder = root / "ucr" / ("Univariate_ts" if ts else "UCRArchive_2018") / name
        folder.mkdir(parents=True, exist_ok=True)
        if ts:
            lines = ["# “curly quotes”", "@problemName toy", "@univariate true", "@equalLength true", "@data"]
            lines += [",".join(values.split()) + f":{label}" for label, values in series]
        else:
            lines = ["\t".join([label, *values.split()]) for label, values in series]
        (folder / f"{name}_{part}.{'ts' if ts else 'tsv'}").write_text("\n".join(lines) + "\n", encoding="utf-8")


_LIMITED = """
import importlib, resource, sys
from pathlib import Path
from training.data.prepared import prepare
module, task, megabytes, path = sys.argv[1:]
names = vars(importlib.import_module(module))
held = int(next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmData" in line).split()[1])
limit = (held + int(megabytes) * 1024) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
print(prepare(eval(task, names))["splits"]["train"]["samples"])
try:
    Path(path).read_bytes()
except MemoryError:
    print("not whole")
"""


def prepared_within(megabytes: int, module: str, task: str, path: Path) -> list[str]:
    """What a process says that may hold so much beyond its imports: training samples, and "not whole" where ``path`` is
    too large to be read at once."""
    arguments = [sys.executable, "-c", _LIMITED, module, task, str(megabytes), str(path)]
    ran = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()
