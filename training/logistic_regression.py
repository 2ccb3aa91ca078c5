"""Logistic regression with a ridge penalty, for calibrations with a few features."""

import numpy as np
from numpy.typing import NDArray


def fit_logistic_regression(
    features: NDArray[np.float64], labels: NDArray[np.float64], ridge: float = 1e-3
) -> NDArray[np.float64]:
    """The weights of the features, followed by the bias, of a logistic regression, found by Newton's method.

    features: one row per example; labels: 0 or 1 for each example; ridge: the strength of the penalty, which also
    applies to the bias.
    """
    x = np.hstack([features, np.ones((len(features), 1))])
    weights = np.zeros(x.shape[1])
    for _ in range(50):
        probabilities = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        gradient = x.T @ (probabilities - labels) + ridge * weights
        hessian = (x * (probabilities * (1 - probabilities))[:, None]).T @ x + ridge * np.eye(x.shape[1])
        step = np.linalg.solve(hessian, gradient)
        weights = weights - step
        if np.abs(step).max() < 1e-8:
            break
    return weights
