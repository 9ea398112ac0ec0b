"""What training costs: a step of the paper's Image model beside a plain one, and many label runs at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from tests.bench.stopwatch import clock, side_by_side
from tests.bench.table import Row
from training.data.buckets import bucketed_batches, padded_tokens
from training.data.sequences import Batch
from training.data.trajectory import TrajectoryTask
from training.execute import Execution, execute
from training.loop import supervised_loss
from training.masking import masked_loss
from training.model.config import ModelConfig, transformer
from training.model.initialisation import InitialWeights, initialised_model
from training.model.network import SequenceModel
from training.stages import Optimiser, RunConfig, Supervised
from training.sweep import sweep

LENGTH = 1024
PLAIN = "plain torch model, every position"


class Plain(nn.Module):
    """The same network from torch's own encoder layers; every position is computed."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = nn.Linear(config.channels + 1, config.width)
        layers = [
            nn.TransformerEncoderLayer(
                config.width, config.heads, config.feedforward, 0.0, "gelu", batch_first=True, norm_first=True
            )
            for _ in range(config.layers)
        ]
        self.layers, self.norm = nn.ModuleList(layers), nn.LayerNorm(config.width)
        self.places = nn.Parameter(torch.zeros(LENGTH, config.width), requires_grad=False)
        self.head = nn.Linear(config.width, config.channels)
        self.classifier = nn.Sequential(
            nn.Linear(config.width, config.width), nn.ReLU(), nn.Linear(config.width, config.classes)
        )

    def forward(self, tokens: Tensor, masked: Tensor) -> Tensor:
        hidden = self.embedding(torch.cat([tokens * ~masked, masked.to(tokens.dtype)], 2)) + self.places
        for layer in self.layers:
            hidden = layer(hidden)
        stream: Tensor = self.norm(hidden)
        return stream


def _image(layers: int) -> ModelConfig:
    return transformer(
        channels=1, classes=10, width=64, layers=layers, heads=4, feedforward=128, classifier="mlp"
    )  # design note training.md, Image


def _step(model: nn.Module, loss: Callable[[], Tensor]) -> Callable[[], None]:
    optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)

    def step() -> None:
        optimiser.zero_grad()
        loss().backward()
        optimiser.step()

    return step


def _sides(layers: int, stage: str) -> tuple[int, Callable[[], None], Callable[[], None], Callable[[], Tensor]]:
    random = torch.Generator().manual_seed(0)
    samples = 32 if stage == "SPT" else 16
    tokens = torch.randn(samples, LENGTH, 1, generator=random)
    labels = torch.randint(10, (samples,), generator=random)
    batch = Batch(tokens, torch.full((samples,), LENGTH), labels, tokens)
    masked = torch.rand(samples, LENGTH, generator=random) < 0.5
    config = _image(layers)
    ours: SequenceModel = initialised_model(config, InitialWeights(), 0)
    plain = Plain(config)
    if stage == "SPT":
        own = lambda: masked_loss(ours, batch, masked, "l2", None)  # noqa: E731
        other = lambda: (plain.head(plain(tokens, masked[..., None])) - tokens)[masked].square().mean()  # noqa: E731
    else:
        nothing = torch.zeros(samples, LENGTH, 1, dtype=torch.bool)
        own = lambda: supervised_loss(ours, batch)  # noqa: E731
        other = lambda: nn.functional.cross_entropy(  # noqa: E731
            plain.classifier(plain(tokens, nothing).mean(1)), labels
        )
    return samples, _step(ours, own), _step(plain, other), own


@pytest.mark.parametrize("stage", ["SPT", "finetune"])
@pytest.mark.parametrize("layers", [1, 3])
def test_a_step_of_the_image_model(
    benchmark: BenchmarkFixture, report: Callable[[Row], None], layers: int, stage: str
) -> None:
    torch.set_num_threads(1)
    samples, ours, plain, loss = _sides(layers, stage)
    timed = side_by_side(benchmark, ours, {PLAIN: plain}, rounds=2, least_seconds=0.0)
    with FlopCounterMode(display=False) as counter:
        loss().backward()
    square = torch.randn(1024, 1024)
    peak = 2 * 1024**3 / clock(lambda: square @ square, 0.3).cpu
    share = counter.get_total_flops() / timed.own.cpu / peak
    note = f"{samples / timed.own.cpu:.1f} samples a processor second, {share:.0%} of the matmul peak"
    name = f"Image {stage} step, {layers} layer{'s' * (layers > 1)}, batch {samples}"
    report(Row(name, timed.own.wall, timed.own.cpu, timed.ratio(PLAIN), PLAIN, note=note))


def test_many_label_runs(benchmark: BenchmarkFixture, report: Callable[[Row], None], tmp_path: Path) -> None:
    """The scheduler with its processes started, beside one process that does the same runs one after the other."""
    task = TrajectoryTask(unlabeled=100)
    runs = [
        RunConfig(task, ModelConfig(), InitialWeights(scale=0.2), Supervised(Optimiser(learning_rate=rate)), seed)
        for seed in range(8)
        for rate in (1e-3, 3e-3, 1e-2)
    ]
    for run in runs[:2]:  # both sides have started and seen a run; the processes of a sweep stay for the next
        execute(run, tmp_path / "warm", Execution())
    sweep(runs[2:8], tmp_path / "warm", jobs=2)
    rounds = iter(range(100))

    def sequential() -> float:
        torch.set_num_threads(1)
        began, folder = time.perf_counter(), tmp_path / f"one-{next(rounds)}"
        for run in runs:
            execute(run, folder, Execution())
        return time.perf_counter() - began

    alone = sequential()
    timed = side_by_side(benchmark, lambda: sweep(runs, tmp_path / f"two-{next(rounds)}", jobs=2), rounds=1)
    speed = alone / timed.own.wall
    note = f"{speed:.2f} times as fast as one process in turn (wall time; at least 1.5 on two idle cores)"
    report(Row(f"{len(runs)} label runs of the toy task, 2 processes", timed.own.wall, note=note))


def test_bucketed_batches(benchmark: BenchmarkFixture, report: Callable[[Row], None]) -> None:
    """Lengths with the median and the spread of IMDb's reviews (data folder README: median 979, 3 % above 4,095)."""
    normal = torch.randn(25_000, generator=torch.Generator().manual_seed(0))
    lengths = (0.75 * normal + 6.89).exp().clamp(30, 2048).int()
    steps = len(lengths) // 32
    timed = side_by_side(benchmark, lambda: bucketed_batches(lengths, steps, 0, 0), rounds=3)
    batches = bucketed_batches(lengths, steps, 0, 0)
    plain = list(torch.randperm(len(lengths)).tensor_split(steps))
    less = padded_tokens(lengths, plain) / padded_tokens(lengths, batches)
    assert less >= 2
    note = f"{less:.1f} times less padding than batches in random order (at least 2)"
    report(Row("an epoch of 25,000 reviews cut into bucketed batches", timed.own.wall, note=note))
