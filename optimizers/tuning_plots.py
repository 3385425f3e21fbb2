"""Optuna's plots of a tuning, as PNG and SVG."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from .tuning import Tuning

FORMATS = ("png", "svg")


def write_plots(tuning: Tuning, folder: str | Path) -> list[Path]:
    """Draw history, values against score, importances and the front, as far as there are any.

    Args:
        tuning: What `TuneThresholds.tune` found.
        folder: Made when missing.

    Returns:
        The files.
    """
    import matplotlib.pyplot as plt
    from optuna.exceptions import ExperimentalWarning
    from optuna.visualization import matplotlib as draw

    score = {"target": lambda trial: trial.values[0], "target_name": "score"}
    plots: dict[str, tuple[Any, dict[str, Any]]] = {
        "history": (draw.plot_optimization_history, score),
        "slices": (draw.plot_slice, score),
    }
    if tuning.importances is not None:
        plots["importances"] = (draw.plot_param_importances, score)
    if tuning.front:
        names = {"target_names": ["score", "requests"]}
        plots["front"] = (draw.plot_pareto_front, names)
    Path(folder).mkdir(parents=True, exist_ok=True)
    written = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        warnings.filterwarnings("ignore", module="matplotlib|optuna")
        for name, (plot, options) in plots.items():
            plot(tuning.study, **options)
            for form in FORMATS:
                written.append(Path(folder) / f"{name}.{form}")
                plt.savefig(written[-1], bbox_inches="tight")
            plt.close()
    return written
