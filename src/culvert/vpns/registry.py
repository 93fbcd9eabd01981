"""Finding VPN drivers: ours in this folder, those of third parties by the entry points
``culvert.vpns``; and the catalogue of this Python environment."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pkgutil import iter_modules
from types import FunctionType
from typing import Any

from culvert import vpns
from culvert.errors import MOST_TEXT, CulvertError, UsageError, VpnError
from culvert.study.builds import built, split_build
from culvert.study.catalogue import Catalogue, Placing, installed_measurements
from culvert.study.table import near
from culvert.vpns.abilities import most_members
from culvert.vpns.base import Vpn
from culvert.vpns.door import ASKED_S, behind_door, outside
from culvert.vpns.variant import Variant

GROUP = "culvert.vpns"
_KINDS = {
    name: isinstance(found, property)
    for base in reversed(Vpn.__mro__)
    for name, found in vars(base).items()
    if not name.startswith("_") and isinstance(found, property | FunctionType)
}
"""Names of a driver that are properties (True) or methods."""
_WORD = re.compile(r"[a-z0-9][a-z0-9-]*")
_OPTION = re.compile(r"[a-z0-9][a-z0-9-]*(-N)?")
"""``tun-mtu-N`` is an option with a number: a study writes ``tun-mtu-6000``."""


@dataclass(frozen=True, order=True)
class VpnId:
    """The name of a VPN in a study: ``name``, ``name/variant`` or ``name/variant+option``.

    ``variant`` equals ``name`` for a VPN with a single variant, such as ``none``.
    """

    name: str
    variant: str
    options: frozenset[str] = frozenset()

    def __str__(self) -> str:
        base = self.name if self.variant == self.name else f"{self.name}/{self.variant}"
        return "+".join((base, *sorted(self.options)))


@dataclass(frozen=True)
class Registry:
    """The drivers that can be used, and for each broken driver the error with the reason."""

    drivers: dict[str, type[Vpn]]
    broken: dict[str, VpnError]

    def driver(self, name: str) -> type[Vpn]:
        """The driver of that name; raises UsageError if unknown, VpnError if broken."""
        if name in self.broken:
            raise self.broken[name]
        if name not in self.drivers:
            raise _unknown("VPN", name, self.drivers)
        return self.drivers[name]

    def parse(self, text: str) -> VpnId:
        """``openvpn/aes-256-gcm+tcp`` as an id; raises UsageError with near matches."""
        base, *options = text.split("+")
        name, slash, variant = base.partition("/")
        driver = self.driver(name)
        variants = [v.name for v in driver.variants]
        if not slash:
            if name not in variants:
                known = ", ".join(f"{name}/{v}" for v in variants)
                raise UsageError(f"VPN {text}", "needs a variant", f"choose one of {known}")
            variant = name
        if variant not in variants:
            raise _unknown(f"variant of {name}", variant, variants)
        for option in options:
            if _declared(option) not in driver.options and option not in driver.options:
                raise _unknown(f"option of {name}", option, driver.options)
        return VpnId(name, variant, frozenset(options))

    def create(self, vpn_id: VpnId) -> Vpn:
        """A driver's instance for one tunnel; raises as ``parse`` does, or as the driver does."""
        driver = self.driver(vpn_id.name)
        checked = self.parse(str(vpn_id))
        return behind_door(driver)(_variant(driver, checked.variant), checked.options)

    def all_variants(self) -> list[VpnId]:
        """Every variant of every usable VPN, without options, the baseline first."""
        ids = [VpnId(d.name, v.name) for d in self.drivers.values() for v in d.variants]
        return sorted(ids, key=lambda i: i.name != "none")


def load(points: Iterable[EntryPoint]) -> Registry:
    """Import drivers; one that fails to import or breaks the contract does not affect the
    others."""
    drivers: dict[str, type[Vpn]] = {}
    broken: dict[str, VpnError] = {}
    for point in sorted(points, key=lambda p: p.name):
        origin = f"package {point.dist.name}" if point.dist else f"entry point {point.value}"
        if point.name in drivers or point.name in broken:
            drivers.pop(point.name, None)
            broken[point.name] = VpnError(
                f"VPN {point.name}", f"is provided twice ({origin})", "uninstall one of the two"
            )
            continue

        def loaded(point: EntryPoint = point) -> tuple[Any, list[str]]:
            found = point.load()
            return found, contract_faults(found, point.name)

        try:
            driver, faults = outside(
                loaded,
                what=f"VPN {point.name}",
                step="the import of its driver",
                deadline_s=ASKED_S,
                remedy=f"repair or uninstall {origin}",
            )
        except VpnError as error:
            broken[point.name] = error
            continue
        if faults:
            broken[point.name] = VpnError(
                f"VPN {point.name}",
                "its driver breaks the contract: " + "; ".join(faults),
                f"repair or uninstall {origin} (see docs/add-a-vpn.md)",
            )
        else:
            drivers[point.name] = driver
    return Registry(drivers, broken)


def contract_faults(driver: object, name: str) -> list[str]:
    """Faults of a driver's class that can be found without running it."""
    if not (inspect.isclass(driver) and issubclass(driver, Vpn)):
        return [f"{driver!r} is not a subclass of culvert.vpns.authoring.Vpn"]
    faults = []
    faults += [
        f"{name} is {'a method' if wanted else 'no method'}, and Culvert uses it as "
        f"{'a property: put @property above it' if wanted else 'a method'}"
        for name, wanted in _KINDS.items()
        if (found := inspect.getattr_static(driver, name, None)) is not None
        and (inspect.isfunction(found) if wanted else not callable(getattr(driver, name)))
    ]
    if inspect.isabstract(driver):
        faults.append("it does not define " + ", ".join(sorted(driver.__abstractmethods__)))
    for attribute in ("name", "summary", "variants"):
        if not getattr(driver, attribute, None):
            faults.append(f"its class attribute {attribute} is missing or empty")
    if faults:
        return faults
    if driver.name != name:
        faults.append(f"its name is {driver.name!r}, the entry point's {name!r}")
    if not isinstance(driver.variants, tuple) or not all(
        isinstance(variant, Variant) for variant in driver.variants
    ):
        return [*faults, "variants is not a tuple of Variant"]
    variants = [variant.name for variant in driver.variants]
    faults += [
        f"variant {v!r} is defined twice" for v in sorted(set(variants)) if variants.count(v) > 1
    ]
    faults += [
        f"{word!r} has characters other than a-z, 0-9 and -"
        for word in (driver.name, *variants)
        if not _WORD.fullmatch(word)
    ]
    faults += [
        f"{option!r} has characters other than a-z, 0-9 and -, with -N for a number at its end"
        for option in driver.options
        if not _OPTION.fullmatch(option)
    ]
    texts = (driver.summary, *driver.options.values(), *(one.summary for one in driver.variants))
    if any(len(text) > MOST_TEXT for text in texts):
        faults.append(f"a summary is longer than {MOST_TEXT} characters")
    if driver.up_deadline_s <= 0:
        faults.append("up_deadline_s is not positive")
    return faults


def shipped() -> Iterator[EntryPoint]:
    """Each class with a name of its own in a file of this folder, or in ``driver.py`` of a folder
    in it; one that fails to import by the name of its file."""
    for found in iter_modules(vpns.__path__, f"{vpns.__name__}."):
        module = f"{found.name}.driver" if found.ispkg else found.name
        if found.ispkg and find_spec(module) is None:
            continue
        try:
            names = vars(import_module(module)).values()
        except Exception:  # load() reports it
            file = found.name.rpartition(".")[2]
            yield EntryPoint(file.replace("_", "-"), module, GROUP)
            continue
        for each in names:
            if not (inspect.isclass(each) and issubclass(each, Vpn)):
                continue
            if each.__module__ == module and "name" in vars(each):
                yield EntryPoint(each.name, f"{module}:{each.__name__}", GROUP)


@cache
def installed() -> Registry:
    """The drivers of this Python environment, loaded once."""
    return load({*shipped(), *entry_points(group=GROUP)})


def parse(text: str) -> VpnId:
    """``Registry.parse`` of the installed drivers."""
    return installed().parse(text)


def create(vpn_id: VpnId) -> Vpn:
    """``Registry.create`` of the installed drivers."""
    return installed().create(vpn_id)


def all_variants() -> list[VpnId]:
    """``Registry.all_variants`` of the installed drivers."""
    return installed().all_variants()


def installed_catalogue() -> Catalogue:
    """Measurements and VPNs of this Python environment."""
    return Catalogue(installed_measurements(), _canonical, _placing)


def _canonical(word: str) -> str:
    whole, build = split_build(word)
    if build and whole == "none":
        raise UsageError(f'VPN "{word}"', "the baseline has no programs to build", "name a VPN")
    return built(str(parse(whole)), build)


def of_study(vpn: str) -> Vpn:
    """``create`` for an id of a study, which may name a build."""
    return create(parse(split_build(vpn)[0]))


def _placing(vpn: str) -> Placing:
    """A driver that cannot be created (its options contradict each other) may be placed anywhere:
    its trials report why they are not possible."""
    try:
        made = of_study(vpn)
    except CulvertError:
        return Placing()
    return Placing(made.needs, most_members(made), made.underlays)


def _declared(option: str) -> str:
    """An option in the form in which a driver declares it: -N for a number."""
    return re.sub(r"-(0|[1-9]\d*)$", "-N", option)


def _variant(driver: type[Vpn], name: str) -> Variant:
    return next(variant for variant in driver.variants if variant.name == name)


def _unknown(kind: str, word: str, known: Iterable[str]) -> UsageError:
    return UsageError(f"{kind} {word!r}", "is unknown", near(word, known))
