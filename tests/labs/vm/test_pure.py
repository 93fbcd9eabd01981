"""What needs no guest: the job's script, the kernel's options, the choice of a hypervisor."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert import tools
from culvert.commands.actions import vm
from culvert.errors import CulvertError, NotPossible, UsageError
from culvert.labs import guest
from culvert.labs.vm import build, cloud, places
from culvert.labs.vm import guest as booted
from culvert.labs.vm.choose import choose
from culvert.labs.vm.job import Folder, Job
from culvert.labs.vm.uml import Uml

_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@given(st.lists(_TEXT, min_size=1).filter(lambda words: words[0] != "culvert"), _TEXT)
def test_a_command_reaches_the_guest_as_it_was_given(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], value: str
) -> None:
    path = tmp_path_factory.mktemp("job")
    show = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['GIVEN']]))"
    job = Job(["python3", "-c", show, *words], path, environment={"GIVEN": value})
    Folder(path).write(job)
    shown = subprocess.run(
        ["sh", str(path / "command")], capture_output=True, check=True, text=True
    )
    assert json.loads(shown.stdout) == [words, value]


def test_each_option_is_asked_for_once() -> None:
    names = [line.split("=")[0] for line in build.options(build.configuration())]
    assert len(names) == len(set(names))
    assert {"CONFIG_WIREGUARD", "CONFIG_OVPN", "CONFIG_INET_ESP", "CONFIG_NET_SCH_NETEM"} < {*names}


def test_every_line_of_the_configuration_is_an_option_or_says_something() -> None:
    for line in build.configuration().splitlines():
        assert re.fullmatch(r"#.*|CONFIG_\w+=(y|n|\d+|\".*\")|", line)


def test_unknown_hypervisors_and_kernels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown"):
        choose("balloon")
    with pytest.raises(UsageError, match="the file does not exist"):
        choose(None, tmp_path / "linux")
    (tmp_path / "image").write_bytes(b"MZ" * 1000)
    with pytest.raises(UsageError, match="not a User Mode Linux program"):
        choose(None, tmp_path / "image")
    with pytest.raises(UsageError, match="lib/modules"):
        choose(None, tmp_path)


def test_a_command_in_the_guest_finds_the_tools_of_the_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CULVERT_TOOLS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(tools, "is_root", lambda: False)
    folder = Folder(tmp_path)
    folder.write(Job(["sh", "-c", 'echo "$PATH"'], tmp_path))
    done = subprocess.run(["sh", tmp_path / "command"], capture_output=True, text=True, check=True)
    assert f"{tmp_path}/culvert/tools/bin" in done.stdout.strip().split(":")


def test_another_architecture_has_no_guests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    for command in (choose, lambda: vm.build_kernel("uml"), lambda: vm.build_kernel("kvm")):
        with pytest.raises(NotPossible, match="guests are of x86_64, and this machine is aarch64"):
            command()


def test_a_kernel_of_ones_own_decides_the_hypervisor(tmp_path: Path) -> None:
    kernel = tmp_path / "linux"
    kernel.write_bytes(b"\x7fELF" + b"\0" * 100 + b"User Mode Linux")
    chosen = choose(None, kernel)
    assert isinstance(chosen, Uml)
    with pytest.raises(NotPossible):
        choose("kvm", kernel)


def test_a_guest_is_described_to_what_runs_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert guest.described() == {}
    told = Uml(Path("/kernel")).guest
    for name, value in told.environment.items():
        monkeypatch.setenv(name, value)
    assert guest.described()["not_comparable"].startswith("functional")
    assert guest.described()["guest"]["hypervisor"] == "uml"
    assert guest.processors([(0,)]) == [(0,), (0,), (0,)]
    assert guest.processors([(0,), (1,)]) == [(0,), (1,)]


def test_a_sources_options_are_found_wherever_they_stand(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "Kconfig").write_text("config TUN\n\tbool\n  menuconfig NET\n")
    (tmp_path / "net/Kconfig.wg").write_text("# config OLD\nconfig WIREGUARD\n")
    assert build._known(tmp_path) == {"TUN", "NET", "WIREGUARD"}


def test_what_a_guest_is_for_is_asked_for() -> None:
    asked = {build._name(line) for line in build.options(build.configuration())}
    assert set(build.ESSENTIAL) <= asked


def test_what_the_package_reads_at_run_time_is_in_a_wheel() -> None:
    root = Path(__file__).parents[3]
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["culvert"]
    package = root / "src/culvert"
    shipped = {path for pattern in patterns for path in package.glob(pattern)}
    for folder in ("report", "labs/vm", "vpns/contract"):
        for path in (package / folder).rglob("*"):
            code = path.suffix in {".py", ".pyc"} or path.is_dir()
            assert code or path in shipped, path


@pytest.mark.parametrize("script", ["exit 3", "echo $$; kill -9 $$"])
def test_a_kernel_that_ends_before_it_boots_is_named(tmp_path: Path, script: str) -> None:
    kernel = tmp_path / "linux"
    kernel.write_text(f"#!/bin/sh\n# User Mode Linux\n{script}\n")
    kernel.chmod(0o755)
    with pytest.raises(CulvertError) as caught:
        booted.run(choose("uml", kernel), Job(["true"], tmp_path))
    assert "the guest (uml" in caught.value.what
    assert caught.value.remedy


def test_the_words_of_a_command_that_ends_at_once_are_passed_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    kernel = tmp_path / "linux"
    kernel.write_text(
        "#!/bin/sh\n# User Mode Linux\n"
        'for word; do case "$word" in culvert.job=*) job=${word#*=};; esac; done\n'
        "echo words >$job/out; echo errors >$job/err; echo 4 >$job/code; : >$job/booted\n"
    )
    kernel.chmod(0o755)
    assert booted.run(choose("uml", kernel), Job(["true"], tmp_path)) == 4
    assert tuple(capfd.readouterr()) == ("words\n", "errors\n")


def test_without_a_cloud_kernel_the_fetch_ends_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Empty:
        def __init__(self, *_: object) -> None:
            pass

        def open(self) -> None:
            pass

        def packages(self, pattern: str) -> list[str]:
            assert pattern.endswith("cloud-amd64")
            return []

    monkeypatch.setattr(cloud, "Archive", Empty)
    monkeypatch.setattr(tools, "require", lambda *_: Path("/sbin/depmod"))
    monkeypatch.setattr(places, "kernels", lambda: tmp_path)
    with pytest.raises(CulvertError, match="have no cloud kernel") as error:
        cloud.fetch(print)
    assert "--kernel" in error.value.remedy
