"""Where the plugins of a cell come from, so that its process loads those and no other.

Built-ins are found by name, whatever machine it is. Others travel as the file or entry point they came from; a class
that was typed into a notebook or script travels itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmark.contracts import DatasetInfo, MethodInfo
from benchmark.errors import UsageError
from benchmark.registry import Kind, builtin_folder, load_only, methods


@dataclass(frozen=True)
class Origin:
    """One plugin that is not built in."""

    kind: Kind
    name: str
    source: str | None = None  # its file
    entry: str | None = None  # module:object
    typed: bytes | None = None  # the class by value

    def load(self) -> None:
        """Make the plugin known here, whatever it takes, and no other."""
        if self.typed is None:
            load_only(self.kind, self.name, self.source, self.entry)
            return
        import cloudpickle

        methods.add(self.name, cloudpickle.loads(self.typed))


def origin_of(kind: Kind, plugin: Any) -> Origin | None:
    """Where a class was registered; None for a built-in one."""
    info: MethodInfo | DatasetInfo = plugin.info
    if plugin.__module__ != "__main__" and info.source is not None:
        built_in = info.source.is_relative_to(builtin_folder(f"{kind}s").resolve())
        return None if built_in else Origin(kind, info.name, str(info.source), info.entry)
    if kind == "dataset":
        raise UsageError(f"data set '{info.name}' was typed in; put it into a file of its own and name it by plugin=")
    import cloudpickle

    try:
        return Origin(kind, info.name, typed=cloudpickle.dumps(plugin))
    except Exception as error:  # whatever the class drags along may refuse in any way
        why = f"{type(error).__name__}: {error}"
        raise UsageError(
            f"method '{info.name}' was typed in and cannot be sent to another process ({why}); put it "
            "into a file of its own and name it by plugin="
        ) from error
