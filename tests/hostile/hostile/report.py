"""Report: one printed line a check, counted."""

import sys


class Report:
    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.scenario = ""

    def check(self, label, is_good, found=""):
        """Counts and prints one check; `found` is shown when it failed, and returned is whether it passed."""
        if is_good:
            self.passed += 1
            print(f"ok      {self.scenario}: {label}")
        else:
            self.failed += 1
            print(f"FAILED  {self.scenario}: {label}; {found}" if found != "" else f"FAILED  {self.scenario}: {label}")
        sys.stdout.flush()
        return is_good

    def note(self, text):
        print(f"        {self.scenario}: {text}", flush=True)
