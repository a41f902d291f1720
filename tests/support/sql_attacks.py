"""Statements that try to leave a query's bounds, and what each does where nothing guards.

`{new}` is a file that does not exist, `{other}` a database with a secret in it, both in the folder
of the task's database. A control runs on a connection without guards, on a writable copy; there
it has the functions of the sqlite3 shell, `readfile`, `writefile`, `edit` and `load_extension`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

SETUP = """
CREATE TABLE boats(id INTEGER PRIMARY KEY, name TEXT, speed REAL);
INSERT INTO boats VALUES (1, 'Ida', 7.5), (2, 'Karl', NULL), (3, 'Nora', 12.25);
CREATE TABLE trips(boat_id INTEGER, day TEXT);
INSERT INTO trips SELECT 1 + value % 3, date('2025-01-01', '+' || value || ' days')
  FROM (WITH RECURSIVE c(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM c LIMIT 300)
        SELECT value FROM c);
CREATE INDEX trips_by_day ON trips(day);
CREATE VIEW fast AS SELECT name FROM boats WHERE speed > 10;
CREATE TRIGGER named AFTER INSERT ON boats BEGIN DELETE FROM trips; END;
CREATE TRIGGER rename_fast INSTEAD OF UPDATE ON fast
  BEGIN UPDATE boats SET name = NEW.name WHERE name = OLD.name; END;
"""
SECRET = "secret-of-another-task"


_OPTIONAL = ("fts3_tokenizer", "fts4", "fts5", "rtree", "sqlite_stmt", "module_list", "json")


class Effect(StrEnum):
    """What a statement does on a connection without guards."""

    WRITES = "changes or makes a file"
    TEMPORARY = "makes a temporary object"
    SETS = "is accepted as a setting"
    LOCKS = "locks other writers out"
    CALLS = "calls a function of the shell"
    TELLS = "tells what is no row of the task"
    ENDLESS = "still runs after a million steps"
    HUGE = "makes a value above ten million bytes"
    FLOODS = "gives more than fits in a reply"
    ODD = "gives text or blobs out of the ordinary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One statement, as an agent would send it."""

    sql: str
    effect: Effect
    before: str = ""
    """Statements that the control runs first."""

    @property
    def needs_build_option(self) -> bool:
        """Whether not every build of SQLite has what it uses."""
        return any(name in self.sql for name in _OPTIONAL)


def _attacks(effect: Effect, statements: str, before: str = "") -> list[Attack]:
    """One attack for each line; `¶` stands for a line break inside one."""
    lines = [line.strip().replace("¶", "\n") for line in statements.strip().split("\n")]
    return [Attack(sql=line, effect=effect, before=before) for line in lines]


_WRITES = """
INSERT INTO boats VALUES (9, 'x', 1)
INSERT OR REPLACE INTO boats VALUES (1, 'x', 1)
REPLACE INTO boats VALUES (1, 'x', 1)
INSERT INTO boats DEFAULT VALUES
INSERT INTO boats SELECT 9, name, speed FROM boats WHERE id = 1
INSERT INTO boats VALUES (9, 'x', 1) RETURNING id
INSERT INTO boats VALUES (1, 'x', 1) ON CONFLICT(id) DO UPDATE SET name = 'y'
WITH w AS (SELECT 9 AS n) INSERT INTO boats SELECT n, 'x', 1 FROM w
UPDATE boats SET speed = 0
UPDATE OR IGNORE boats SET speed = 0
UPDATE boats SET speed = 0 RETURNING name
UPDATE boats SET speed = 0 FROM trips WHERE trips.boat_id = boats.id
UPDATE fast SET name = 'x'
WITH w AS (SELECT 1 AS n) UPDATE boats SET speed = 0 WHERE id IN (SELECT n FROM w)
DELETE FROM boats
DELETE FROM boats WHERE id = 1 RETURNING *
WITH w AS (SELECT 1 AS n) DELETE FROM boats WHERE id IN (SELECT n FROM w)
DROP TABLE boats
DROP TABLE IF EXISTS trips
DROP INDEX trips_by_day
DROP VIEW fast
DROP TRIGGER named
CREATE TABLE x(a)
CREATE TABLE main.x(a)
CREATE TABLE IF NOT EXISTS x AS SELECT * FROM boats
CREATE INDEX x ON boats(name)
CREATE UNIQUE INDEX IF NOT EXISTS x ON boats(name)
CREATE VIEW x AS SELECT 1
CREATE TRIGGER x AFTER DELETE ON trips BEGIN DELETE FROM boats; END
CREATE VIRTUAL TABLE x USING fts5(a)
CREATE VIRTUAL TABLE x USING fts4(a)
CREATE VIRTUAL TABLE x USING rtree(a, b, c)
ALTER TABLE boats RENAME TO x
ALTER TABLE boats ADD COLUMN x
ALTER TABLE trips RENAME COLUMN day TO x
ALTER TABLE trips ADD COLUMN x DEFAULT 1
REINDEX
REINDEX trips
ANALYZE
ANALYZE main
VACUUM
VACUUM main
VACUUM INTO '{new}'
VACUUM main INTO '{new}'
vAcUuM/**/InTo '{new}'
ATTACH '{new}' AS n; CREATE TABLE n.x(a)
ATTACH 'file:{new}?mode=rwc' AS n; CREATE TABLE n.x(a)
PRAGMA user_version = 7
PRAGMA user_version(7)
PRAGMA main.user_version = 7
/* harmless */ PRAGMA user_version = 7
PRAGMA application_id = 7
PRAGMA schema_version = 700
PRAGMA journal_mode = WAL
PRAGMA journal_mode(WAL)
PRAGMA auto_vacuum = FULL; VACUUM
PRAGMA page_size = 8192; VACUUM
SELECT 1; DELETE FROM boats
SELECT 1;¶DELETE FROM boats
DELETE FROM boats; SELECT 1
-- SELECT 1¶DELETE FROM boats
/**/InSeRt/**/InTo/**/boats/**/vAlUeS(9,'x',1)
\ufeffDELETE FROM boats
;DELETE FROM boats
EXPLAIN SELECT 1; DELETE FROM boats
SELECT '; --'; DELETE FROM boats
SELECT 1 /* ; */; DELETE FROM boats --
BEGIN; DELETE FROM boats; COMMIT
SAVEPOINT s; DELETE FROM boats; RELEASE s
"""
_TEMPORARY = """
CREATE TEMP TABLE x(a)
CREATE TEMPORARY TABLE x AS SELECT * FROM boats
CREATE TABLE temp.x(a)
CREATE TEMP VIEW boats AS SELECT 1
CREATE VIEW temp.x AS SELECT 1
CREATE TEMP TRIGGER x AFTER INSERT ON boats BEGIN SELECT 1; END
CREATE VIRTUAL TABLE temp.x USING fts5(a)
CREATE VIRTUAL TABLE temp.x USING fts5vocab('main', 'boats', 'row')
"""
_SETS = """
PRAGMA writable_schema = ON
PRAGMA writable_schema = RESET
PRAGMA trusted_schema = ON
PRAGMA query_only = OFF
PRAGMA temp_store = FILE
PRAGMA mmap_size = 1000000000
PRAGMA cache_size = -4000000
PRAGMA cache_spill = OFF
PRAGMA soft_heap_limit = 0
PRAGMA hard_heap_limit = 0
PRAGMA threads = 64
PRAGMA locking_mode = EXCLUSIVE
PRAGMA busy_timeout = 1000000
PRAGMA foreign_keys = ON
PRAGMA recursive_triggers = ON
PRAGMA case_sensitive_like = ON
PRAGMA ignore_check_constraints = ON
PRAGMA defer_foreign_keys = ON
PRAGMA legacy_alter_table = ON
PRAGMA reverse_unordered_selects = ON
PRAGMA wal_autocheckpoint = 1
PRAGMA wal_checkpoint(TRUNCATE)
PRAGMA synchronous = OFF
PRAGMA secure_delete = OFF
PRAGMA max_page_count = 1
PRAGMA journal_size_limit = 1
PRAGMA incremental_vacuum(1)
PRAGMA optimize
PRAGMA shrink_memory
PRAGMA encoding = 'UTF-16'
PRAGMA analysis_limit = 1
ATTACH ':memory:' AS m
ATTACH '' AS m
ATTACH DATABASE '{other}' AS o
ATTACH 'file:{other}?immutable=1' AS o
ATTACH printf('%s', '{other}') AS o
ATTACH (SELECT '{other}') AS o
ATTACH char(58, 109, 101, 109, 111, 114, 121, 58) AS o
"""
_DETACHES = """
DETACH o
DETACH DATABASE o
"""
_LOCKS = """
BEGIN EXCLUSIVE
BEGIN IMMEDIATE
BEGIN IMMEDIATE TRANSACTION
"""
_CALLS = """
SELECT load_extension('{other}')
SELECT load_extension('{other}', 'sqlite3_init')
SELECT "load_extension"('{other}')
SELECT LOAD_EXTENSION('{other}') FROM boats
SELECT 1 WHERE load_extension('{other}') IS NULL
SELECT CASE WHEN 1 THEN load_extension('{other}') END
SELECT * FROM boats ORDER BY load_extension('{other}')
VALUES (load_extension('{other}'))
WITH w AS (SELECT load_extension('{other}') AS x) SELECT x FROM w
SELECT max(load_extension('{other}')) OVER () FROM boats
SELECT readfile('{other}')
SELECT CAST(readfile('/etc/passwd') AS TEXT)
SELECT length(readfile('{other}')) FROM boats
SELECT writefile('{new}', 'x')
SELECT writefile('{new}', name) FROM boats
SELECT edit('x', 'touch {new}')
"""
_TELLS = """
PRAGMA database_list
SELECT * FROM pragma_database_list
SELECT file FROM pragma_database_list()
SELECT (SELECT file FROM pragma_database_list LIMIT 1)
WITH w AS (SELECT * FROM pragma_database_list) SELECT file FROM w
SELECT boats.name, file FROM boats, pragma_database_list
PRAGMA module_list
PRAGMA pragma_list
PRAGMA journal_mode
PRAGMA cache_size
PRAGMA hard_heap_limit
PRAGMA locking_mode
PRAGMA data_version
PRAGMA integrity_check
SELECT * FROM pragma_journal_mode
SELECT * FROM sqlite_stmt
SELECT sql FROM sqlite_stmt
SELECT fts3_tokenizer('simple')
SELECT hex(fts3_tokenizer('porter'))
"""
_COUNT_UP = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
_ENDLESS = f"""
{_COUNT_UP} SELECT count(*) FROM c
{_COUNT_UP} SELECT max(x) FROM c
{_COUNT_UP} SELECT x FROM c WHERE x < 0
{_COUNT_UP} SELECT sum(a.x) FROM c AS a, c AS b
{_COUNT_UP} SELECT 1 WHERE EXISTS (SELECT 1 FROM c WHERE x = 0)
{_COUNT_UP} SELECT (SELECT count(*) FROM c)
{_COUNT_UP} SELECT avg(x) OVER () FROM c
WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT count(*) FROM c
SELECT count(*) FROM trips a, trips b, trips c, trips d
SELECT sum(length(a.day || b.day)) FROM trips a, trips b, trips c, trips d
SELECT count(*) FROM trips a JOIN trips b JOIN trips c JOIN trips d WHERE a.day > d.day
SELECT max(a.day || b.day) FROM trips a, trips b, trips c, trips d
"""
_HUGE = """
SELECT zeroblob(12000000)
SELECT randomblob(12000000)
SELECT zeroblob(12000000), printf('%.*c', 5000000, 'x')
SELECT printf('%.*c', 12000000, 'x')
SELECT printf('%12000000d', 1)
SELECT hex(zeroblob(6000000))
SELECT quote(zeroblob(6000000))
SELECT replace(hex(zeroblob(1000)), '0', hex(zeroblob(4000)))
SELECT zeroblob(6000000) || zeroblob(6000000)
SELECT upper(printf('%.*c', 12000000, 'x'))
SELECT group_concat(printf('%.*c', 50000, 'x')) FROM trips
SELECT json_group_array(printf('%.*c', 50000, 'x')) FROM trips
SELECT CAST(zeroblob(12000000) AS TEXT)
"""
_FLOODS = """
SELECT * FROM trips a, trips b, trips c, trips d
SELECT printf('%.*c', 9000000, 'x')
SELECT printf('%.*c', 9000000, 'x') FROM trips
SELECT zeroblob(9000000), zeroblob(9000000)
SELECT printf('%.*c', 3000, '"') FROM trips
SELECT printf('%.*c', 3000, char(10)) FROM trips
SELECT printf('%.*c', 3000, char(128512)) FROM trips
SELECT group_concat(day, char(10)) || printf('%.*c', 100000, ',') FROM trips
SELECT *, *, *, *, *, *, *, *, *, *, *, *, *, *, *, *, *, *, *, *, *, *, *, * FROM trips a, trips b
SELECT hex(zeroblob(3000)) AS a, hex(zeroblob(3000)) AS b, hex(zeroblob(3000)) AS c FROM trips
"""
_ODD = """
SELECT CAST(x'ff' AS TEXT)
SELECT CAST(x'c328' AS TEXT) AS "x'c328'"
SELECT char(0), char(1), char(27), char(127)
SELECT 'a' || char(0) || 'b'
SELECT char(55296), char(57343), char(1114111), char(1114112)
SELECT char(8232), char(8233), char(65279), char(8238)
SELECT x'00ff80', zeroblob(3)
SELECT 9e999, -9e999, 9e999 - 9e999, 1e-320
SELECT 9223372036854775807, -9223372036854775808, 9223372036854775808
SELECT 1 AS "a,b", 2 AS "a""b", 3 AS "", 4 AS "a"
SELECT name AS n, name AS n, speed AS n FROM boats
SELECT NULL
SELECT '', NULL, ' ', char(13), char(10), char(9), '"', ','
SELECT json('{"a":[1,null]}'), json_extract('[1]', '$[0]')
SELECT randomblob(0), x''
"""


def _long_statements() -> list[Attack]:
    """Statements whose size is the attack; each comes back, cut or with a clear error."""
    numbers = ", ".join(map(str, range(100_000)))
    columns = ", ".join(f"{n} AS column_number_{n}" for n in range(2_000))
    return [
        Attack(sql=sql, effect=Effect.FLOODS)
        for sql in (
            f"SELECT a.* FROM trips a, trips b WHERE a.boat_id IN ({numbers})",
            f"SELECT {columns}",
            f'SELECT 1 AS "{"x" * 400_000}"',
            f"SELECT '{'x' * 400_000}'",
            f"SELECT {' || '.join(['hex(zeroblob(200))'] * 400)}",
            f"SELECT a.*, {'(' * 90}1{')' * 90} FROM trips a, trips b",
            "SELECT a.* FROM (" + " UNION ALL ".join(["SELECT 1"] * 400) + ") a, trips b",
            f"WITH {', '.join(f'w{n} AS (SELECT * FROM trips)' for n in range(200))} "
            "SELECT a.* FROM w0 a, w199 b",
        )
    ]


ATTACKS: tuple[Attack, ...] = (
    *_attacks(Effect.WRITES, _WRITES),
    *_attacks(Effect.TEMPORARY, _TEMPORARY),
    *_attacks(Effect.SETS, _SETS),
    *_attacks(Effect.SETS, _DETACHES, before="ATTACH '{other}' AS o"),
    *_attacks(Effect.LOCKS, _LOCKS),
    *_attacks(Effect.CALLS, _CALLS),
    *_attacks(Effect.TELLS, _TELLS),
    *_attacks(Effect.ENDLESS, _ENDLESS),
    *_attacks(Effect.HUGE, _HUGE),
    *_attacks(Effect.FLOODS, _FLOODS),
    *_attacks(Effect.ODD, _ODD),
    *_long_statements(),
)
