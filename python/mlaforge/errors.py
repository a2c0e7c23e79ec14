"""The exception that failing calls raise."""


class MlafError(RuntimeError):
    """`status` is the C API's name, e.g. "MLAF_E_NOT_COMPILED"; `detail` the library's own message."""

    def __init__(self, status, text):
        super().__init__(f"{status}: {text}")
        self.status, self.detail = status, text
