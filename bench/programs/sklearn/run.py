# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingRegressor

rng = np.random.default_rng(5)
points = rng.standard_normal((40000, 12))
fitted = KMeans(12, n_init=2, max_iter=40, random_state=1).fit(points)
print(f"inertia {fitted.inertia_:.4f}")
trees = HistGradientBoostingRegressor(max_iter=60, random_state=1).fit(points[:, 1:], points[:, 0] + points[:, 1] ** 2)
print(f"inertia {trees.predict(points[:100, 1:]).sum():.5f}")
