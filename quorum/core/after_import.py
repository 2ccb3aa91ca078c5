"""Calls a function once a package of another project has been imported, without importing it."""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


def call_after_import(package: str, function: Callable[[], None]) -> None:
    """Call the function: now if the package has been imported, else when it has been.

    Until then an import finder of ours waits at the head of `sys.meta_path`; it finds only this package, as Python
    would, and removes itself.
    """
    if package in sys.modules:
        function()
    else:
        sys.meta_path.insert(0, WaitingFinder(package, function))


class WaitingFinder(MetaPathFinder):
    """Finds one package as the other finders do; once it is imported, `function` is called."""

    def __init__(self, package: str, function: Callable[[], None]) -> None:
        self.package, self.function = package, function

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.package or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = FollowedLoader(spec.loader, self)
        return spec


class FollowedLoader(Loader):
    """Loads a module with its own loader, then calls the finder's function. If that fails, the finder waits again."""

    def __init__(self, loader: Loader, finder: WaitingFinder) -> None:
        self.loader, self.finder = loader, finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        try:
            self.loader.exec_module(module)
        except BaseException:
            sys.meta_path.insert(0, self.finder)
            raise
        self.finder.function()
