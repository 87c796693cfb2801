"""The one exception that is the user's to mend."""


class UserError(Exception):
    """Bad input: one line that says what is wrong, where, and the remedy.

    Every verb prints the message without a traceback and exits with 2.
    """
