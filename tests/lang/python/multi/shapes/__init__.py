from .rectangle import area

__all__ = ["area"]
