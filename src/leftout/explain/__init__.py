"""Who is left out, in words a person can use.

An audit explains each of its groups (:class:`Explanation`). :func:`describe` is the sentence for
any labels, and :func:`feature_losses` the split of any groups' losses over features.
"""

from leftout.explain.explanation import Explanation, feature_losses
from leftout.explain.sentence import Sentence, describe

__all__ = ["Explanation", "Sentence", "describe", "feature_losses"]
