"""Fair PCA: the projection under which the group that fares worst fares best."""
