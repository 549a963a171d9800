"""Who is left out, in words a person can use.

:func:`group` tells the whole; every part can be had alone. Parts that speak of features take the
matrix ``X`` that was searched, parts that speak of people take the raw table, with its names,
categories and gaps. Labels are 1 where a row is left out and 0 elsewhere.
"""

from leftout.data.conditions import Condition
from leftout.explain.alignment import Alignment, Typical, align, typical_values
from leftout.explain.attribution import (
    WhatIf,
    disparity_by_feature,
    feature_losses,
)
from leftout.explain.explanation import Explanation, group
from leftout.explain.rules import Frequency, Rule, Rules, find_rules, rule_frequency
from leftout.explain.sentence import Sentence
from leftout.explain.sentence_search import describe
from leftout.groups.outcome import Outcome
from leftout.linalg.significance import Interval

__all__ = [
    "Alignment",
    "Condition",
    "Explanation",
    "Frequency",
    "Interval",
    "Outcome",
    "Rule",
    "Rules",
    "Sentence",
    "Typical",
    "WhatIf",
    "align",
    "describe",
    "disparity_by_feature",
    "feature_losses",
    "find_rules",
    "group",
    "rule_frequency",
    "typical_values",
]
