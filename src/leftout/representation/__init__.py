"""What is audited: a PCA or another representation, and how much it keeps of each row."""
