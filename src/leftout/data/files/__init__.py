"""The bytes of a file, and the table in them."""
