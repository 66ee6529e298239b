"""A loop with Hugging Face Accelerate. The checkpoint contains the state of the loop; `Position` contains the position
in the data.

python examples/accelerate_loop.py --dir /tmp/accelerate --steps 40
"""

import torch
from accelerate import Accelerator
from outcome import arguments, finish, maybe_die
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from holdfast.training import Checkpoint, Position, Random


def main() -> None:
    options = arguments(__doc__)
    torch.manual_seed(1)
    accelerator = Accelerator(cpu=not torch.cuda.is_available())
    inputs = torch.randn(60, 8, generator=torch.Generator().manual_seed(2))
    loader = DataLoader(TensorDataset(inputs, inputs.sum(1)), batch_size=4, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.1), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    position = Position()
    state = {"model": model, "optimizer": optimizer.optimizer, "random": Random(), "position": position}
    ckpt = Checkpoint(options.dir, replicas=options.replicas)
    step = ckpt.load(state) or 0
    while step < options.steps:
        for given, expected in position.over(loader):
            loss = nn.functional.mse_loss(model(given).squeeze(1), expected)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            step += 1
            ckpt.save(step, state)
            maybe_die(options, step)
            if step == options.steps:
                break
    finish(options, accelerator.unwrap_model(model), step)
    ckpt.close()


if __name__ == "__main__":
    main()
