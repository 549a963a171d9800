"""Sites that may not share rows: each sends sums, and the audit of all of them is that of the pool.

A site's file holds, for all its rows and for each known group, how many they are, the sums of their
features and of the products of these: what shared PCA, losses of known groups and Fair PCA are made
of, to the last digits as if the rows were in one table. A sum over few rows would tell of a person,
so groups of fewer rows are pooled with the next larger ones of their attribute, until what is sent,
and what could be had by taking it away, counts enough.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leftout import __version__
from leftout.asking import asking
from leftout.checks import Refusal, check_count
from leftout.core import moments as mm
from leftout.core.components import check_components
from leftout.core.losses import Array, Loss, Shared, Summary, evaluate
from leftout.core.moments import Moments
from leftout.fair.mitigation import Mitigation, mitigate_summary
from leftout.files import Told, plain
from leftout.running import collected_notes, note, one_thread
from leftout.scale.agreed import Agreed
from leftout.wording import counted, listed, number, shown, unambiguous

_FORMAT = "leftout moments 1"
# Sums over fewer rows are not sent.
SMALLEST = 20
# What needs rows.
CANNOT = (
    "Who is left out without a name, who they are in a sentence, evidence and what it costs a "
    "model need rows, and are not part of this audit: run one at a site."
)
_POOLED = "(small groups together)"
_UNKNOWN = "(not in the plan)"


@dataclass(frozen=True)
class SiteMoments:
    """What one site sends, or several together: sums of all rows, and by known groups.

    ``groups`` are pairs of an attribute and a group's name, one for each of the moments after the
    first, which are those of all rows. ``pooled`` are the groups that were too small somewhere.
    """

    plan: str
    features: tuple[str, ...]
    groups: tuple[tuple[str, str], ...]
    pooled: tuple[tuple[str, str], ...]
    moments: Moments
    smallest: int
    sites: int = 1

    def file(self) -> bytes:
        """The content of a moments file: arrays, and a line about them; no pickles."""
        about = {
            "format": _FORMAT, "leftout": __version__, "plan": self.plan,
            "features": list(self.features), "groups": [list(each) for each in self.groups],
            "pooled": [list(each) for each in self.pooled], "smallest": self.smallest,
            "sites": self.sites,
        }  # fmt: skip
        buffer = io.BytesIO()
        count, total, second, origin, _ = self.moments
        upper = np.triu_indices(len(origin))
        np.savez_compressed(
            buffer, about=np.array(json.dumps(about)), count=count, total=total,
            second=second[:, *upper], origin=origin,
        )  # fmt: skip
        return buffer.getvalue()

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> SiteMoments:
        """Read a moments file."""
        name = os.fspath(path)
        try:
            with np.load(path, allow_pickle=False) as held:
                about = json.loads(str(held["about"]))
                if about.get("format") != _FORMAT:
                    raise ValueError(f"it is not {_FORMAT!r}")
                origin = held["origin"]
                upper = np.triu_indices(len(origin))
                second = np.zeros((len(held["count"]), len(origin), len(origin)))
                second[:, *upper] = held["second"]
                second[:, upper[1], upper[0]] = held["second"]
                sums = Moments(held["count"], held["total"], second, origin)
        except OSError as error:
            raise Refusal(f"{shown(name)!r} cannot be read: {error.strerror or error}.") from error
        except (ValueError, KeyError, zipfile.BadZipFile, IndexError) as error:
            raise Refusal(
                f"{shown(name)!r} is not a file of moments ({shown(str(error))}). Make one with: "
                "leftout moments TABLE --plan PLAN --out FILE"
            ) from error
        return cls(
            about["plan"], tuple(about["features"]), _pairs(about["groups"]),
            _pairs(about["pooled"]), sums, about["smallest"], about["sites"],
        )  # fmt: skip

    def merge(self, other: SiteMoments, called: str = "another site") -> SiteMoments:
        """Both together; a group that is pooled at one of them is pooled."""
        if self.plan != other.plan:
            raise Refusal(
                f"The moments of {shown(called)} were taken with another plan. Agree on one plan "
                "file, and take them again with it."
            )
        pooled = tuple(sorted({*self.pooled, *other.pooled}))
        mine, theirs = (dict(each._named(pooled)) for each in (self, other))
        names = tuple(sorted({*mine, *theirs}))
        nothing = _nothing(len(self.features), self.moments.origin)
        parts = [mm.merge(_part(self.moments, [0]), _part(other.moments, [0]))]
        parts += [mm.merge(mine.get(n, nothing), theirs.get(n, nothing)) for n in names]
        return SiteMoments(
            self.plan, self.features, names, pooled, mm.stack(*parts),
            min(self.smallest, other.smallest), self.sites + other.sites,
        )  # fmt: skip

    def _named(
        self, pooled: Sequence[tuple[str, str]]
    ) -> Iterator[tuple[tuple[str, str], Moments]]:
        """Moments by group, those that are to be pooled under their common name."""
        found: dict[tuple[str, str], Moments] = {}
        for place, (attribute, group) in enumerate(self.groups, start=1):
            name = (attribute, _POOLED) if (attribute, group) in pooled else (attribute, group)
            part = _part(self.moments, [place])
            found[name] = mm.merge(found[name], part) if name in found else part
        return iter(found.items())


def take_moments(agreed: Agreed, table: Any, smallest: int = SMALLEST) -> SiteMoments:
    """What a site sends of its table.

    Parameters
    ----------
    agreed : Agreed
        The plan that all sites share.
    table : data frame
    smallest : int
        Sums over fewer rows are not sent: their groups are pooled, or all is refused.
    """
    check_count("min_group_size", smallest)
    X, codes = agreed.read(table)
    if len(X) < smallest:
        raise Refusal(
            f"The table has {counted(len(X), 'row')}; sums of fewer than {smallest} could tell of "
            "a person, and are not sent. Pool rows of several sites first."
        )
    n = X.shape[1]
    names: list[tuple[str, str]] = []
    pooled: list[tuple[str, str]] = []
    with one_thread():
        parts = [mm.build(X)]
        for attribute, places in zip(agreed.attributes, codes, strict=True):
            groups = [*attribute.groups, _UNKNOWN]
            together = _too_small(np.bincount(places, minlength=len(groups)), smallest)
            new = np.array(
                [_POOLED if place in together else name for place, name in enumerate(groups)]
            )
            each = new[places]
            for name in sorted(set(each.tolist())):
                names.append((attribute.name, name))
                parts.append(mm.build(np.ascontiguousarray(X[each == name])))
            pooled += [(attribute.name, groups[place]) for place in together]
    if pooled:
        note(
            f"{counted(len(pooled), 'group')} of fewer than {smallest} rows, or beside such, "
            f"{'is' if len(pooled) == 1 else 'are'} sent pooled with others: "
            f"{listed([f'{unambiguous(a)} = {unambiguous(g)}' for a, g in pooled[:5]])}"
            f"{' and more' * (len(pooled) > 5)}."
        )
    order = np.argsort([f"{a}\0{g}" for a, g in names], kind="stable")
    sums = mm.stack(parts[0], *(parts[1 + place] for place in order))
    assert sums.second.shape[1] == n
    return SiteMoments(
        agreed.digest, tuple(agreed.features), tuple(names[place] for place in order),
        tuple(sorted(pooled)), sums, smallest,
    )  # fmt: skip


def _too_small(counts: NDArray[np.integer], smallest: int) -> list[int]:
    """Places of groups to pool: the small ones and, while these are few together, the next."""
    order = [int(place) for place in np.argsort(counts, kind="stable") if counts[place]]
    together = [place for place in order if counts[place] < smallest]
    if not together:
        return []
    for place in order[len(together) :]:
        if counts[together].sum() >= smallest and len(together) > 1:
            break
        together.append(place)
    return sorted(together)


@dataclass(frozen=True)
class KnownLoss(Told):
    """What one known group loses under the PCA that all sites share."""

    attribute: str
    group: str
    rows: int
    loss: float
    retained: float
    retained_own: float


@dataclass(frozen=True)
class Sites(Told):
    """An audit of sites that have sent sums: shared PCA, known groups, Fair PCA."""

    together: SiteMoments
    n_components: int
    shared: Shared
    known: list[KnownLoss]
    fair: dict[str, Mitigation]
    notes: list[str]

    @cached_property
    def explained(self) -> Array:
        """Share of the variance of each component."""
        values = self.shared.eigenvalues
        return values / values.sum()

    @property
    def components(self) -> Array:
        return self.shared.components

    def summary(self) -> str:
        """What was found, in a few lines."""
        sent, rows = self.together, int(self.together.moments.count[0])
        kept = float(self.explained[: self.n_components].sum())
        lines = [
            f"{counted(sent.sites, 'site')} with {rows:,} rows and {len(sent.features)} features: "
            f"a shared PCA with {counted(self.n_components, 'component')} keeps {100 * kept:.1f} % "
            "of the variance."
        ]
        for attribute, mended in self.fair.items():
            each = [line for line in self.known if line.attribute == attribute]
            worst = max(each, key=lambda line: line.loss)
            least = min(each, key=lambda line: line.loss)
            lines.append(
                f"By {unambiguous(attribute)}, {unambiguous(worst.group)} ({worst.rows:,} rows) "
                f"loses most, {number(worst.loss)} on average, and {unambiguous(least.group)} "
                f"({least.rows:,} rows) least, {number(least.loss)}. Fair PCA brings the largest "
                f"loss to {number(float(mended.here.losses_after.max()))}."
            )
        return "\n".join([*lines, *self.notes, CANNOT])

    def to_dict(self) -> dict[str, Any]:
        """Plain data: numbers, strings, lists."""
        sent = self.together
        return plain({
            "leftout_version": __version__,
            "sites": sent.sites,
            "rows": int(sent.moments.count[0]),
            "features": list(sent.features),
            "plan": sent.plan,
            "pca": {
                "n_components": self.n_components,
                "explained_variance_ratio": self.explained,
                "components": self.components,
                "mean": self.table.mean,
            },
            "known": self.known,
            "fair": {name: mended.to_dict() for name, mended in self.fair.items()},
            "pooled": [list(each) for each in sent.pooled],
            "notes": [*self.notes, CANNOT],
        })  # fmt: skip

    @cached_property
    def table(self) -> Summary:
        """All rows, about their mean."""
        return _about_mean(self.together.moments, [0])


def audit_sites(sites: Sequence[SiteMoments], n_components: int | float = 0.8) -> Sites:
    """Shared PCA, losses of known groups and Fair PCA of all sites, exactly as if pooled.

    Parameters
    ----------
    sites : list of SiteMoments
        Taken with one plan.
    n_components : int or float
        As in :func:`leftout.audit`.
    """
    together = sites[0]
    for place, other in enumerate(sites[1:], start=2):
        together = together.merge(other, f"site {place}")
    rule, moments = Loss.named("excess", "global"), together.moments
    with one_thread(), collected_notes() as notes:
        table = _about_mean(moments, [0])
        shared = check_components(rule, table, n_components)
        d = len(shared.components)
        attributes = list(dict.fromkeys(attribute for attribute, _ in together.groups))
        known, fair = [], {}
        for attribute in attributes:
            places = [p for p, (a, _) in enumerate(together.groups, start=1) if a == attribute]
            names = [together.groups[place - 1][1] for place in places]
            part = _about_mean(moments, places)
            losses = evaluate(rule, part.moments, shared.components)
            variance = np.trace(part.moments.second, axis1=1, axis2=2) / part.moments.count
            V = shared.components
            kept = np.einsum("dn,gnk,dk->g", V, part.moments.second, V, optimize=True)
            kept /= part.moments.count * np.where(variance > 0, variance, np.nan)
            known += [
                KnownLoss(attribute, name, int(rows), float(loss), float(k), float(k + loss / v))
                for name, rows, loss, k, v in zip(
                    names, part.moments.count, losses, kept, variance, strict=True
                )
            ]
            if len(names) > 1:
                fair[attribute] = mitigate_summary(part, names, d, names=list(together.features))
        if together.pooled:
            note(
                f"Groups that were too small at a site (fewer than {together.smallest} rows, or "
                "pooled beside such) are counted together, at all sites: "
                f"{listed([f'{unambiguous(a)} = {unambiguous(g)}' for a, g in together.pooled])}."
            )
        if not attributes:
            note(f"No known groups were sent. Name columns in the plan: {asking('sensitive')}.")
    return Sites(together, d, shared, known, fair, notes)


def read_sites(paths: Sequence[str | os.PathLike[str]]) -> list[SiteMoments]:
    """The moments files of several sites; refuses those of another plan by their names."""
    sites = [SiteMoments.of(path) for path in paths]
    for path, site in zip(paths, sites, strict=True):
        if site.plan != sites[0].plan:
            raise Refusal(
                f"{Path(path).name!r} was taken with another plan than {Path(paths[0]).name!r}. "
                "Agree on one plan file, and take the moments again with it."
            )
    return sites


def _about_mean(moments: Moments, places: list[int]) -> Summary:
    """Some of the groups, about the mean of them all."""
    part = _part(moments, places)
    mean = part.origin + part.total.sum(axis=0) / part.count.sum()
    return Summary(np.empty((0, len(mean))), mm.recentre(part, mean), mean, None)


def _part(moments: Moments, places: list[int]) -> Moments:
    return Moments(
        moments.count[places], moments.total[places], moments.second[places], moments.origin
    )


def _nothing(n: int, origin: Array) -> Moments:
    return Moments(np.zeros(1), np.zeros((1, n)), np.zeros((1, n, n)), origin)


def _pairs(lines: Any) -> tuple[tuple[str, str], ...]:
    return tuple((str(a), str(b)) for a, b in lines)
