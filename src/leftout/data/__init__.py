"""From a table as people have it to numbers between 0 and 1."""
