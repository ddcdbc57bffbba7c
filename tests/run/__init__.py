"""What `tests/run.py` is made of: tools, preparations, nodes, the table of suites, and how their tests are counted."""
