"""The exceptions: the three kinds of failure, with the text that the command line prints."""


class Error(Exception):
    """A request failed; nothing was written."""


class Rejected(Error):
    """A claim was checked and does not hold, or a tolerance is not met."""


class Declined(Error):
    """The request lies outside of the hypotheses of the construction."""


class InputError(Error, ValueError):
    """The request itself is malformed: an option, an array, a file, a number."""


class DomainWarning(UserWarning):
    """An input lies outside of the domain of the target, and so of the claim."""


class TableWarning(UserWarning):
    """A function has no formula in the target language, and is read as a table."""
