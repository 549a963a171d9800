"""fairlearn: ``MetricFrame``, told which two columns to look at, as its users would have to know.

The group of the largest mean residual. It computes and compares; whether that is more than chance
it leaves to its users (bootstrap intervals on request), so it claims nothing by itself.
"""

import numpy as np
import pandas as pd
from fairlearn.metrics import MetricFrame, mean_prediction

PACKAGES = ("fairlearn", "scikit-learn", "pandas")


def answer(table):
    if "known" not in table:
        return None  # no column names a group
    columns = pd.DataFrame(table["known"], columns=table["names"])[["town", "work"]]
    residual = table["residual"]
    frame = MetricFrame(
        metrics=mean_prediction,
        y_true=np.zeros_like(residual),
        y_pred=residual,
        sensitive_features=columns,
    )
    worst = frame.by_group.idxmax()
    found = (columns["town"] == worst[0]) & (columns["work"] == worst[1])
    return found.to_numpy(), None, f"town = {worst[0]} and work = {worst[1]}"
