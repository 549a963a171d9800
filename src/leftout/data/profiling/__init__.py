"""What columns are, what they tell of each other, and which values may mean something else."""
