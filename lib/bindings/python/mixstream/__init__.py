"""Finds the hidden linear laws in a stream of rows.

    model = mixstream.Mixstream(k=3, features="1,flow,flow^2").fit(frame[["flow"]], frame["power"])
    print(model)                      # the laws with errors, and the verdict
    model.partial_fit(more[["flow"]], more["power"])
    model.report()                    # in a notebook: the page with plots
"""

from ._estimator import Mixstream, PoorFit
from ._library import Error
from ._report import Report

__all__ = ["Error", "Mixstream", "PoorFit", "Report"]
