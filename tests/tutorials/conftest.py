"""The programs are run by test_programs.py; pytest itself does not import them."""

collect_ignore = ["programs"]
