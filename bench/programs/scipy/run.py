# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import linalg as solvers

rng = np.random.default_rng(5)
a = rng.standard_normal((900, 900))
values = linalg.eigvalsh(a + a.T)
print(f"values {values[0]:.8f} {values[-1]:.8f}")
n = 120
line = sparse.diags([-1, 2, -1], [-1, 0, 1], shape=(n, n))
plane = sparse.kronsum(line, line).tocsc()
x = solvers.spsolve(plane, np.ones(n * n))
print(f"values {x.sum():.6f}")
for _ in range(6):
    b = a @ a
print(f"values {b.trace():.6f}")
