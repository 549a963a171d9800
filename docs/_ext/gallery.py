"""The order of the examples: from one's first question to the last."""

ORDER = [
    "mortgages",
    "fitted_pipeline",
    "digits",
    "autoencoder",
    "two_scalings",
    "students",
    "known_group",
    "several_groups",
    "pipeline",
    "every_group",
    "larger_than_memory",
    "faces",
    "noise",
    "paper",
]


class Order:
    """What sphinx-gallery sorts file names by."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, file: str) -> int:
        return ORDER.index(file.removesuffix(".py"))
