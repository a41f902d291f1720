"""Small tasks in the released layout: a folder with metadata, and an image with its own runner.

One for each form of test names. The programs are shell and Python, since that is what the tests'
image can run; the runners print and take what those of the three languages do.
"""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.sandboxes import TEST_IMAGE, docker_address

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedForm:
    """What one language's task is made of."""

    language: str
    run_script: str
    parser: str
    tests: Mapping[str, str]  # path -> content, laid over by the hidden test patch
    required: tuple[str, ...]
    arguments: tuple[str, ...]
    """What the published steps give the runner for these tests."""

    @property
    def image(self) -> str:
        return f"hilbench-swe:test-{self.language}"


_LIMIT = "#!/bin/sh\necho 10\n"
RIGHT, WRONG = "42", "41"

_PARSER = """
import json, re, sys
rows = []
for line in open(sys.argv[1]):
    match = re.match({pattern!r}, line)
    if match:
        rows.append({{"name": match["name"], "status": {words}[match["word"]]}})
json.dump({{"tests": rows}}, open(sys.argv[3], "w"))
"""

PYTHON = ReleasedForm(
    language="python",
    run_script="""#!/bin/bash
cd /app
for id in "$@"; do
  python3 - "$id" <<'EOF'
import importlib.util, sys, unittest
path, name, method = sys.argv[1].split("::")
spec = importlib.util.spec_from_file_location("hidden", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
result = unittest.TestResult()
getattr(module, name)(method).run(result)
print(sys.argv[1], "PASSED" if result.wasSuccessful() else "FAILED")
EOF
done
""",
    parser=_PARSER.format(
        pattern=r"(?P<name>\S+::\S+) (?P<word>PASSED|FAILED)",
        words={"PASSED": "PASSED", "FAILED": "FAILED"},
    ),
    tests={
        "tests/unit/test_limit.py": (
            "import subprocess, unittest\n\n\n"
            "class LimitTest(unittest.TestCase):\n"
            "    def test_is_right(self):\n"
            "        self.assertEqual(subprocess.check_output(['sh', 'limit.sh']).strip(), b'42')\n"
            "\n"
            "    def test_runs(self):\n"
            "        subprocess.check_call(['sh', 'limit.sh'])\n"
        )
    },
    required=(
        "tests/unit/test_limit.py::LimitTest::test_is_right",
        "tests/unit/test_limit.py::LimitTest::test_runs",
    ),
    arguments=(
        "tests/unit/test_limit.py::LimitTest::test_is_right",
        "tests/unit/test_limit.py::LimitTest::test_runs",
    ),
)
GO = ReleasedForm(
    language="go",
    run_script="""#!/bin/bash
cd /app
. ./limit_test.sh
for name in "$@"; do
  echo "=== RUN   $name"
  if "$name"; then echo "--- PASS: $name (0.00s)"; else echo "--- FAIL: $name (0.00s)"; fi
done
""",
    parser=_PARSER.format(
        pattern=r"\s*--- (?P<word>PASS|FAIL): (?P<name>\S+) ",
        words={"PASS": "PASSED", "FAIL": "FAILED"},
    ),
    tests={
        "limit_test.sh": 'TestLimitIsRight() { [ "$(sh limit.sh)" = 42 ]; }\n'
        "TestLimitRuns() { sh limit.sh >/dev/null; }\n"
    },
    required=("TestLimitIsRight", "TestLimitRuns"),
    arguments=("TestLimitIsRight", "TestLimitRuns"),
)
JAVASCRIPT = ReleasedForm(
    language="js",
    run_script="""#!/bin/bash
cd /app
for file in "$@"; do bash "$file" "$file"; done
""",
    parser=_PARSER.format(
        pattern=r"(?P<word>ok|no) (?P<name>.+)$",
        words={"ok": "PASSED", "no": "FAILED"},
    ),
    tests={
        "src/limit.test.ts": (
            'if [ "$(sh limit.sh)" = 42 ]; then w=ok; else w=no; fi\n'
            'echo "$w $1 | limit is the right one, with [brackets]"\n'
            'sh limit.sh >/dev/null && echo "ok $1 | limit runs"\n'
        )
    },
    required=(
        "src/limit.test.ts | limit is the right one, with [brackets]",
        "src/limit.test.ts | limit runs",
    ),
    arguments=("src/limit.test.ts",),
)
FORMS = {form.language: form for form in (PYTHON, GO, JAVASCRIPT)}


def solution(limit: str) -> str:
    return (
        "diff --git a/limit.sh b/limit.sh\n--- a/limit.sh\n+++ b/limit.sh\n"
        f"@@ -1,2 +1,2 @@\n #!/bin/sh\n-echo 10\n+echo {limit}\n"
    )


def test_patch(form: ReleasedForm) -> str:
    """New files as a diff, without the last line's end: two released ones lack it too."""
    parts: list[str] = []
    for path, content in form.tests.items():
        lines = content.splitlines()
        added = "".join(f"+{line}\n" for line in lines)
        parts.append(
            f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
            f"@@ -0,0 +1,{len(lines)} @@\n{added}"
        )
    return "".join(parts).removesuffix("\n")


test_patch.__test__ = False  # pyright: ignore[reportFunctionMemberAccess]


def docker(*arguments: str, stdin: bytes = b"") -> bytes:
    """Docker's own command line, for what is done by hand."""
    done = subprocess.run(
        ["docker", "-H", docker_address(), *arguments],
        input=stdin,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def build_image(form: ReleasedForm) -> None:
    """An image with a repository that has a history, and the form's own scripts."""
    name = f"build-{form.language}"
    docker("create", "--name", name, TEST_IMAGE, "sh", "-ec", _MAKE_REPOSITORY)
    try:
        files = {
            "app/limit.sh": _LIMIT,
            "app/.gitignore": "*.log\n",
            "root/run_script.sh": form.run_script,
            "root/parser.py": form.parser,
        }
        docker("cp", "-", f"{name}:/", stdin=_tar(files))
        docker("start", "-a", name)
        docker("commit", name, form.image)
    finally:
        docker("rm", "-f", name)


_MAKE_REPOSITORY = """
ln -s python3 /usr/bin/python
cd /app
git init -q
git config --global user.name x
git config --global user.email x@example.com
echo first > old.txt
git add -A
git commit -qm first
git rm -q old.txt
git commit -qm base
rm /root/.gitconfig
"""


def _tar(files: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            data = content.encode()
            info.size, info.mode = len(data), 0o755
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def write_layout(form: ReleasedForm, folder: Path) -> Path:
    """The folder of one released task; the folder that holds it is what is imported."""
    task = folder / "harbor_swe" / f"swe_{form.language}"
    shared = task / "shared"
    (shared / "ask-human-data").mkdir(parents=True)
    for mode in ("baseline", "ask_human", "full_info"):
        (task / mode).mkdir()
        (task / mode / "instruction.md").write_text("Raise the limit.\n")
    archive = {
        "artifact_path": f"images/{form.language}.tar.zst",
        "hf_bucket": "example/images",
        "local_image_ref": form.image,
    }
    metadata: dict[str, object] = {
        "instance_id": f"instance_pumps__pumps-{form.language}",
        "dataset_name": f"swe_{form.language}",
        "repo_name": "app",
        "repo_name_source": "pumps/pumps",
        "base_commit": "HEAD",
        "image_name": form.image,
        "language": form.language,
        "swe_bench_metadata": {"FAIL_TO_PASS": list(form.required), "PASS_TO_PASS": []},
        "test_patch": test_patch(form),
        "run_script_path": "/root/run_script.sh",
        "parser_script_path": "/root/parser.py",
        "test_files": [],
        "image_archive": archive,
    }
    blocker = {
        "id": "limit",
        "description": "No limit is given.",
        "resolution": "The limit is 42.",
        "example_questions": ["-  What is the limit?"],
        "type": "missing parameters",
    }
    (shared / "metadata.json").write_text(json.dumps(metadata))
    (shared / "image_archive.json").write_text(json.dumps(archive))
    (shared / "problem_statement.txt").write_text("Raise the limit.\n")
    (shared / "ask-human-data" / "blocker_registry.json").write_text(
        json.dumps({"blockers": [blocker]})
    )
    return folder / "harbor_swe"


_BY_HAND = r"""
cd /app
[ -s /tmp/sub.patch ] && git apply /tmp/sub.patch
echo >> /tmp/test.patch
git apply --verbose --reject /tmp/test.patch >&2
bash /root/run_script.sh "$@" > /tmp/stdout.log 2> /tmp/stderr.log
python /root/parser.py /tmp/stdout.log /tmp/stderr.log /tmp/output.json
cat /tmp/output.json
"""


def graded_by_hand(form: ReleasedForm, patch: str) -> bool:
    """The published steps, typed into a container of the image."""
    name = f"hand-{form.language}"
    command = ["bash", "-c", _BY_HAND, "bash", *form.arguments]
    docker("create", "--name", name, "--network", "none", form.image, *command)
    try:
        files = {"tmp/sub.patch": patch, "tmp/test.patch": test_patch(form)}
        docker("cp", "-", f"{name}:/", stdin=_tar(files))
        report = json.loads(docker("start", "-a", name))
    finally:
        docker("rm", "-f", name)
    passed = {row["name"] for row in report["tests"] if row["status"] == "PASSED"}
    return set(form.required) <= passed


def save_archive(image: str, archive: Path) -> None:
    """An image as the release packs it."""
    subprocess.run(["zstd", "-q", "-1", "-o", archive], input=docker("save", image), check=True)


def tiny_image(tag: str) -> None:
    """An image with one file that starts nothing."""
    docker("import", "-", tag, stdin=_tar({"a": "a"}))
