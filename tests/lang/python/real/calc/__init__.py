from .compiler import compile_source
from .errors import CalcError
from .machine import Machine

__all__ = ["CalcError", "Machine", "compile_source"]
