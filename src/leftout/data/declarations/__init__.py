"""What people know of a table, and say: codes, missing values, labels."""
