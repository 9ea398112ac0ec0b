"""No tensor of a GPU meets one of the CPU, checked without a GPU: CPU tensors of a class that says ``cuda:0``.

Every torch function that is called with such tensors and bare CPU tensors of at least one axis fails here, as it would
on a GPU; what is moved (``to``) or made there (``device=``) belongs to the class.  Results must be those of the CPU.
"""

import itertools
from dataclasses import replace

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

from tests.training.small import TASK, ragged_set
from training.distributed import ALONE, Machine, this_machine
from training.evaluation import evaluate_labels, evaluate_reconstruction
from training.loop import stage_loss
from training.model.config import ATTENTION_MASKS, MASK_INPUTS, POOLINGS, POSITIONS, ModelConfig
from training.model.initialisation import InitialWeights, initialised_model
from training.stages import Pretrain, RunConfig, Supervised

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)
PRETENDED = Machine(GPU)


class OnGpu(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return call(func, args, kwargs or {})


class Pretend(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return call(func, args, kwargs or {})


def as_class(value, kind):
    with torch._C.DisableTorchFunction():
        return value.as_subclass(kind)


def real(value):
    if isinstance(value, OnGpu):
        return as_class(value, torch.Tensor)
    return CPU if isinstance(value, torch.device) and value.type == "cuda" else value


def call(func, args, kwargs):
    leaves = tree_leaves((args, kwargs))
    there = [leaf for leaf in leaves if isinstance(leaf, OnGpu)]
    here = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and not isinstance(leaf, OnGpu) and leaf.ndim]
    asked = [leaf for leaf in leaves if isinstance(leaf, torch.device)]
    name = getattr(func, "__name__", "")
    if there and func == torch.Tensor.device.__get__:
        return GPU
    if there and here and name not in ("to", "copy_"):
        raise RuntimeError(f"{name}: tensors of the CPU, {[tuple(leaf.shape) for leaf in here]}, meet the GPU's")
    with torch._C.DisableTorchFunction():
        result = func(*tree_map(real, args), **tree_map(real, kwargs))
    if asked:
        on_gpu = asked[0].type == "cuda"
    elif name == "to" and len(args) > 1 and isinstance(args[1], torch.Tensor):
        on_gpu = isinstance(args[1], OnGpu)
    else:
        on_gpu = bool(there)
    return tree_map(lambda leaf: as_class(leaf, OnGpu) if on_gpu and isinstance(leaf, torch.Tensor) else leaf, result)


def moved(model):
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                module._parameters[name] = as_class(parameter.detach(), OnGpu)
    return model


def networks():
    """Every value of every choice, and each kind of bias under each mask."""
    base = ModelConfig(channels=2, width=8, heads=2, layers=2)
    yield replace(base, attend_padding=True)
    for positions in POSITIONS:
        yield replace(base, positions=positions)
    for positions, mask in itertools.product(("sinusoidal", "alibi", "fire"), ATTENTION_MASKS[1:]):
        yield replace(base, positions=positions, attention_mask=mask)
    for pooling in POOLINGS[1:]:
        yield replace(base, pooling=pooling)
    for mask_input in MASK_INPUTS[1:]:
        yield replace(base, mask_input=mask_input)


def values(config, data, machine, moves=lambda model: model):
    """Losses of both stages and evaluations."""
    loss = "cross-entropy" if config.vocabulary else "l2"
    found = []
    with torch.no_grad():
        for stage in (Pretrain(loss=loss), Supervised()):
            model = moves(initialised_model(config, InitialWeights(), 0))
            run = RunConfig(TASK, config, InitialWeights(), stage)
            found.append(float(stage_loss(run, model, data.batch(torch.arange(6)), 0, machine)))
        found += [*evaluate_labels(model, data, machine)]
        found.append(evaluate_reconstruction(model, data.unlabeled(), 0.5, loss, 0, machine))
    return found


@pytest.fixture
def sequences():
    data = ragged_set(8, 7, channels=2, seed=1)
    return replace(data, tokens=data.tokens.float(), lengths=data.lengths.clamp(min=2))


def test_no_network_mixes_devices(sequences):
    ids = ModelConfig(channels=0, vocabulary=9, width=8), ragged_set(8, 7, vocabulary=9, seed=2)
    for config, data in [*((config, sequences) for config in networks()), ids]:
        expected = values(config, data, ALONE)
        with Pretend():
            assert values(config, data, PRETENDED, moved) == expected, config


def test_tensors_that_were_not_moved_are_found(sequences):
    with Pretend(), pytest.raises(RuntimeError, match="meet the GPU's"):
        values(ModelConfig(channels=2, width=8), sequences, ALONE, moved)


def test_the_token_stream_and_the_angles_of_rope_keep_their_precision_under_autocast(sequences):
    for positions in ("sinusoidal", "rope", "none"):
        model = initialised_model(ModelConfig(channels=2, width=8, positions=positions), InitialWeights(), 0)
        batch = sequences.batch(torch.arange(4))
        with this_machine("cpu", "bfloat16").autocast():
            hidden = model.embedding(batch.tokens)
            assert hidden.dtype == torch.float32
            if positions == "rope":
                queries, _ = model.layer(0).attention.queries_and_keys(torch.randn(1, 4096, 8).bfloat16())
                assert queries.dtype == torch.float32
