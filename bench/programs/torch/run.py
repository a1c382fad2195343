# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause

import torch

torch.manual_seed(3)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 24, 5), torch.nn.ReLU(), torch.nn.Conv2d(24, 24, 5), torch.nn.Flatten(), torch.nn.Linear(24 * 24 * 24, 10))
step = torch.optim.SGD(net.parameters(), lr=1e-3)
images, labels = torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))
for _ in range(20):
    step.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(images), labels)
    loss.backward()
    step.step()
print(f"loss {loss.item():.3f}")
