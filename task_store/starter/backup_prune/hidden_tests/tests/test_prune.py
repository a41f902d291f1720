import contextlib
import io
import tempfile
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path

from keepsake.cli import main
from keepsake.index import Index, save_index
from keepsake.prune import plan_prune
from keepsake.snapshot import Snapshot

NOW = datetime(2025, 6, 30, 12, 0, tzinfo=timezone.utc)


def made(name: str, age: timedelta, size: int = 100, **flags: bool) -> Snapshot:
    return Snapshot(name, NOW - age, size, **flags)


def kept(*snapshots: Snapshot) -> list[str]:
    return sorted(s.name for s in plan_prune(Index(list(snapshots)), NOW).keep)


def hours(number: float) -> timedelta:
    return timedelta(hours=number)


class PlanTest(unittest.TestCase):
    def test_recent_snapshots_all_stay(self):
        # 28 June, 17:00 and later is recent; on that day the largest of the others stays.
        snapshots = [
            made("web-new", hours(1)),
            made("web-day", hours(30)),
            made("web-edge", hours(43)),
            made("web-over", hours(43) + timedelta(minutes=1), size=90),
            made("web-old", hours(44), size=95),
        ]

        self.assertEqual(kept(*snapshots), ["web-day", "web-edge", "web-new", "web-old"])

    def test_one_snapshot_a_day_stays(self):
        day = timedelta(days=6)
        first = made("web-first", day + hours(8), size=50)
        verified = made("web-verified", day + hours(6), size=60, verified=True)
        largest = made("web-largest", day + hours(4), size=80)
        same_size = made("web-same", day + hours(2), size=80)
        last = made("web-last", day, size=70)

        self.assertEqual(kept(first, verified, largest, same_size, last), ["web-same"])

    def test_the_daily_level_ends(self):
        snapshots = [made(f"web-{days:02}", timedelta(days=days)) for days in range(3, 40)]

        self.assertEqual(kept(*snapshots), [f"web-{days:02}" for days in range(3, 18)])
        self.assertEqual(kept(made("web-morning", timedelta(days=17) + hours(11))), ["web-morning"])

    def test_pins_protect_as_agreed(self):
        snapshots = [
            made("web-50", timedelta(days=50), pinned=True),
            made("web-100", timedelta(days=100), pinned=True),
            made("web-edge", timedelta(days=130), pinned=True),
            made("web-over", timedelta(days=130, minutes=1), pinned=True),
            made("web-400", timedelta(days=400), pinned=True),
            made("web-free", timedelta(days=50)),
        ]

        self.assertEqual(kept(*snapshots), ["web-100", "web-50", "web-edge"])

    def test_hosts_are_pruned_on_their_own(self):
        snapshots = [
            made("web-a", timedelta(days=5), size=10),
            made("db-a", timedelta(days=5), size=20),
            made("db-b", timedelta(days=5, hours=1), size=15),
        ]

        plan = plan_prune(Index(snapshots), NOW)

        self.assertEqual([s.name for s in plan.keep], ["db-a", "web-a"])
        self.assertEqual([s.name for s in plan.drop], ["db-b"])


class CommandTest(unittest.TestCase):
    def test_the_plan_is_printed(self):
        snapshots = [
            made("web-new", hours(2)),
            made("web-ancient", timedelta(days=300), size=1024),
            made("web-old", timedelta(days=200), size=512),
        ]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "snapshots.index")
            save_index(Index(snapshots), path)
            before = path.read_bytes()
            printed = io.StringIO()

            with contextlib.redirect_stdout(printed):
                status = main(["prune", str(path), "--now", "2025-06-30T12:00"])

            self.assertEqual(status, 0)
            self.assertEqual(path.read_bytes(), before)
        self.assertEqual(
            printed.getvalue(), "web-ancient\nweb-old\n2 of 3 snapshots go, 1.5 KiB\n"
        )
