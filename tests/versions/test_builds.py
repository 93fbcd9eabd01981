"""Builds of commits: outside of the working tree, and once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from culvert.errors import UsageError
from culvert.versions.builds import Builder, BuildError
from culvert.versions.repository import Repository
from tests.versions.history import git, history

COMMAND = 'echo built >> "$LOG"; mkdir bin; test "$(cat source)" != broken && cp source bin/vpnd'


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))


def test_each_commit_is_built_once_and_the_working_tree_stays(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    commits = history(repo, ["one", "two"])
    (repo / "source").write_text("not committed")
    builder = Builder(Repository(repo), COMMAND, "bin")
    found = [builder.build(one) for one in ("HEAD~1", "HEAD", "HEAD")]
    assert [one.commit for one in found] == [*commits, commits[1]]
    assert [Path(one.programs, "vpnd").read_text() for one in found] == ["one", "two", "two"]
    assert (tmp_path / "log").read_text() == "built\n" * 2
    assert (repo / "source").read_text() == "not committed"
    assert len(git(repo, "worktree", "list").splitlines()) == 1
    assert found[0].commit == commits[0]


def test_two_at_the_same_time_build_once(tmp_path: Path) -> None:
    history(tmp_path / "repo", ["one"])
    builder = Builder(Repository(tmp_path / "repo"), f"sleep 0.3; {COMMAND}", "bin")
    with ThreadPoolExecutor(2) as both:
        first, second = both.map(builder.build, ("HEAD", "HEAD"))
    assert first == second
    assert (tmp_path / "log").read_text() == "built\n"


def test_another_command_is_another_build(tmp_path: Path) -> None:
    history(tmp_path / "repo", ["one"])
    repository = Repository(tmp_path / "repo")
    plain = Builder(repository, "true").build("HEAD")
    assert plain.programs != Builder(repository, "touch more").build("HEAD").programs


def test_what_does_not_build_says_why_and_is_tried_again(tmp_path: Path) -> None:
    history(tmp_path / "repo", ["broken"])
    builder = Builder(Repository(tmp_path / "repo"), f"{COMMAND}; echo no vpnd; exit 3", "bin")
    for _ in range(2):
        with pytest.raises(BuildError, match="exit code 3: no vpnd"):
            builder.build("HEAD")
    assert (tmp_path / "log").read_text() == "built\n" * 2


@pytest.mark.parametrize("programs", ["out", "../.."])
def test_a_directory_that_is_not_in_the_build(tmp_path: Path, programs: str) -> None:
    history(tmp_path / "repo", ["one"])
    with pytest.raises(UsageError, match="has no such directory"):
        Builder(Repository(tmp_path / "repo"), "true", programs).build("HEAD")


def test_commits_between_two(tmp_path: Path) -> None:
    commits = history(tmp_path / "repo", ["a", "b", "c"])
    repository = Repository(tmp_path / "repo")
    assert repository.after(commits[0], commits[2]) == commits[1:]
    assert repository.subject(commits[1]).endswith("change 1")
    for good, bad in ((commits[2], commits[0]), (commits[0], commits[0])):
        with pytest.raises(UsageError, match="does not come after"):
            repository.after(good, bad)
    with pytest.raises(UsageError, match='commit "nothing"'):
        repository.commit("nothing")
    with pytest.raises(UsageError, match="not a git repository"):
        Repository(tmp_path).commit("HEAD")
