"""What fretsaw writes, for Python: RowSet (shards and parts), TokenRows (the same as a PyTorch data set), Run (weights as transformers models)."""

from .rows import Row, RowSet

__version__ = "0.1.0"
__all__ = ["Row", "RowSet", "TokenRows", "Run", "RunModel"]


def __getattr__(name):  # torch and transformers are wanted only by those who use these
    if name == "TokenRows":
        from .torch_rows import TokenRows

        return TokenRows
    if name in ("Run", "RunModel"):
        from . import runs

        return getattr(runs, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
