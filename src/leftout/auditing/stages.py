"""The stages of an audit, as people read of them while they wait, and why some are left out."""

# What people read while they wait, and the share of the time, more or less.
READ, FIND, EXPLAIN = "reading and encoding", "who is left out", "who are they"
MEND, NAME = "what can be done", "which groups have a name"
COST, TRUST = "what does it cost them", "why, and does it come back"
COMPARE = "comparing algorithms"
STAGES = {
    READ: 2.0, FIND: 4.0, EXPLAIN: 5.0, MEND: 1.0, NAME: 45.0, COST: 3.0, TRUST: 30.0,
    COMPARE: 10.0,
}  # fmt: skip
# Why an answer has no evidence.
QUICK = "Not looked at in a quick audit. Audit again without it."
NOT_YET = "Not looked at yet."
PAPER = "The paper's preset does not look at this. Audit without it."
