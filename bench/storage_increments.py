"""How much of a training state changes between two saved steps: what an increment in storage could leave out.

    python bench/storage_increments.py [--interval 50]

A language model trains with AdamW, once with all its parameters and once with only its last layer, as in fine-tuning.
Two saves, so many steps apart, are compared in blocks of 1 MiB, as keepers compare them, and tensor by tensor.
"""

import argparse
from collections.abc import Iterator

import torch
from measure import publish
from torch import nn

BLOCK = 1 << 20
WIDTH, LAYERS, VOCABULARY, CONTEXT, BATCH = 256, 6, 8192, 32, 8


def model() -> nn.Sequential:
    torch.manual_seed(1)
    block = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True)
    body = nn.TransformerEncoder(block, LAYERS, enable_nested_tensor=False)
    return nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), body, nn.Linear(WIDTH, VOCABULARY))


def tensors(made: nn.Module, optimizer: torch.optim.Optimizer) -> Iterator[torch.Tensor]:
    yield from made.state_dict().values()
    for state in optimizer.state.values():
        yield from (one for one in state.values() if isinstance(one, torch.Tensor))


def train(made: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> list[torch.Tensor]:
    source = torch.Generator().manual_seed(2)
    for _ in range(steps):
        text = torch.randint(VOCABULARY, (BATCH, CONTEXT + 1), generator=source)
        loss = nn.functional.cross_entropy(made(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return [one.detach().clone() for one in tensors(made, optimizer)]


def changed(before: list[torch.Tensor], after: list[torch.Tensor]) -> dict[str, float]:
    old, new = (b"".join(one.numpy().tobytes() for one in state) for state in (before, after))
    blocks = range(0, len(new), BLOCK)
    different = sum(len(new[at : at + BLOCK]) for at in blocks if old[at : at + BLOCK] != new[at : at + BLOCK])
    whole = sum(b.nbytes for a, b in zip(before, after, strict=True) if not torch.equal(a, b))
    return {
        "megabytes": round(len(new) / BLOCK, 1),
        "changed_blocks_share": round(different / len(new), 3),
        "changed_tensors_share": round(whole / len(new), 3),
    }


def measured(interval: int, frozen: bool) -> dict[str, float]:
    made = model()
    if frozen:
        for part in list(made)[:-1]:
            part.requires_grad_(False)
    optimizer = torch.optim.AdamW([one for one in made.parameters() if one.requires_grad], lr=1e-3)
    return changed(train(made, optimizer, 1), train(made, optimizer, interval))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interval", type=int, default=50, help="steps between the two saves")
    asked = parser.parse_args()
    publish(
        "storage_increments",
        {
            "interval_steps": asked.interval,
            "all_parameters": measured(asked.interval, frozen=False),
            "last_layer_only": measured(asked.interval, frozen=True),
        },
    )


if __name__ == "__main__":
    main()
