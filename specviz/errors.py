"""The one exception that a person is meant to read."""


class UserError(Exception):
    """Something the user can mend: one sentence saying what happened and what to do.

    Pages show it, the command line prints it and exits with code 2.
    """
