"""Does the installed package work, away from its sources? ``python smoke.py VERSION``."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import leftout


def main(version: str) -> None:
    """Find, mend, encode and render, each on a table that is done in a moment."""
    home = Path(leftout.__file__).resolve()
    assert home.is_relative_to(Path(sysconfig.get_path("purelib")).resolve()), home
    assert leftout.__version__ == version, leftout.__version__
    for name in leftout.__all__:
        assert getattr(leftout, name) is not None

    X, planted = leftout.datasets.make_planted(300, 8, 2, 40, random_state=0)
    found = leftout.MaxDisparityPartition(2, group_size=40, random_state=0).fit(X)
    same = (found.labels_ == 1) & (planted == 1)
    assert same.sum() >= 36, same.sum()
    fair = leftout.FairPCA(2).fit(X, groups=found.labels_)
    assert fair.max_loss_ < max(fair.baseline_losses_)

    assert leftout.datasets.load_demo().shape == (1989, 56)
    assert leftout.datasets.demo_dictionary().exists()
    from leftout.page.views import rendered

    assert "It burns." in rendered("problem.html", sentence="It burns.")
    print(f"leftout {version} works outside its sources: {home.parent}")


if __name__ == "__main__":
    main(sys.argv[1])
