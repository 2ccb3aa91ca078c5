"""Logistic regression with a ridge penalty, for calibrations with a few features."""

import numpy as np
from numpy.typing import NDArray


def fit_logistic_regression(
    features: NDArray[np.float64], labels: NDArray[np.float64], ridge: float = 1e-3
) -> NDArray[np.float64]:
    """Weights (features, then bias) of a logistic regression, by Newton's method."""
    x = np.hstack([features, np.ones((len(features), 1))])
    weights = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        gradient = x.T @ (p - labels) + ridge * weights
        step = np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + ridge * np.eye(x.shape[1]), gradient)
        weights = weights - step
        if np.abs(step).max() < 1e-8:
            break
    return weights
