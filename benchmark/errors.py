"""The errors that are interface: what the command line turns into one line and an exit code."""


class UsageError(ValueError):
    """Bad input: names the thing, the place, what was expected and the remedy. Exit code 2, before any work."""


class InvalidCodes(ValueError):
    """A method returned something that is not an (n, bits) array over {-1, +1}."""


class TrainingFailed(RuntimeError):
    """Training broke down (a loss that is not finite, codes that collapsed) and says so instead of a number."""
