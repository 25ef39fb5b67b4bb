class CalcError(Exception):
    """Something is wrong with the source, at this column."""

    def __init__(self, message, column=0):
        super().__init__(message)
        self.column = column
