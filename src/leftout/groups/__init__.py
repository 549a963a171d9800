"""Who is left out: the search as an estimator, and losses of groups that are known."""
