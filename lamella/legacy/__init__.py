"""Names that MindSpore 2.0 to 2.9 had and 2.10 has no more, for programs written for these.

`names` is the table from name to what replaces it; the other files hold what had another meaning.
The alias imports this room when a program asks for a name that 2.10 doesn't have.
"""
