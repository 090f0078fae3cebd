#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/lib/engines.py - another engine on the rows that bench_store wrote: bytes, load and three questions

    engines.py sqlite|duckdb|clickhouse ROWS.csv DIR [labels]

Prints lines `NAME NUMBER`: rows, load (CPU ms), bytes (of the files, once at rest), and CPU ms of the questions merge_day,
quarter_hour and points (the least of three, caches warm). Exit status 3: the engine is not installed.

Each has the layout it is best with: a table sorted by series and time where there are columns (ClickHouse with the codecs that
suit each column), an index by time where there are rows. One thread each, as the store is asked. The questions are of sums
alone: no engine has frames of stacks.

SQLite comes with Python; `pip install duckdb` and `pip install chdb` (the engine of clickhouse-local) have the others.
"""

import os
import sys
import time

MERGE_DAY = "SELECT count(*), sum(v) FROM (SELECT stack, sum(value) AS v FROM row GROUP BY stack) AS t"
QUARTER_HOUR = "SELECT count(*), sum(v) FROM (SELECT stack, sum(value) AS v FROM row WHERE time_ms > {} GROUP BY stack) AS t"
POINTS = "SELECT count(*), sum(v) FROM (SELECT time_ms / 60000 AS minute, sum(value) AS v FROM row GROUP BY minute) AS t"


def bytes_below(path):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(path) for f in files)


class Sqlite:
    def __init__(self, rows, where, labels):
        import csv
        import sqlite3

        self.path = os.path.join(where, "rows.sqlite")
        self.db = sqlite3.connect(self.path)
        self.db.execute("PRAGMA page_size = 8192")
        self.db.execute("CREATE TABLE row(time_ms INTEGER, series INTEGER, stack INTEGER, value INTEGER%s)" % (", labels TEXT" if labels else ""))
        with open(rows, newline="") as f:
            self.db.executemany("INSERT INTO row VALUES(?, ?, ?, ?%s)" % (", ?" if labels else ""), csv.reader(f))
        self.db.execute("CREATE INDEX row_time ON row(time_ms)")
        self.db.commit()

    def ask(self, sql):
        return self.db.execute(sql).fetchone()

    def bytes(self):
        return os.path.getsize(self.path)


class Duckdb:
    def __init__(self, rows, where, labels):
        import duckdb

        self.path = os.path.join(where, "rows.duckdb")
        self.db = duckdb.connect(self.path, config={"threads": 1})
        self.db.execute(
            "CREATE TABLE row AS SELECT * FROM read_csv(?, header = false, columns = {'time_ms': 'BIGINT', 'series': 'UINTEGER',"
            " 'stack': 'UINTEGER', 'value': 'BIGINT'%s}) ORDER BY series, time_ms" % (", 'labels': 'VARCHAR'" if labels else ""),
            [rows],
        )
        self.db.execute("CHECKPOINT")

    def ask(self, sql):
        return self.db.execute(sql.replace("/ 60000", "// 60000")).fetchone()

    def bytes(self):
        return os.path.getsize(self.path)


class Clickhouse:
    def __init__(self, rows, where, labels):
        from chdb import session

        self.path = os.path.join(where, "clickhouse")
        self.db = session.Session(self.path)
        self.run("CREATE DATABASE d ENGINE = Atomic")
        self.run(
            "CREATE TABLE d.row(time_ms Int64 CODEC(DoubleDelta, ZSTD(3)), series UInt32 CODEC(ZSTD(3)), stack UInt32 CODEC(ZSTD(3)),"
            " value Int64 CODEC(ZSTD(3))%s) ENGINE = MergeTree ORDER BY (series, time_ms)" % (", labels LowCardinality(String) CODEC(ZSTD(3))" if labels else "")
        )
        self.run("INSERT INTO d.row SELECT * FROM file('%s', CSV) SETTINGS max_insert_threads = 1" % rows)
        self.run("OPTIMIZE TABLE d.row FINAL")

    def run(self, sql):
        return str(self.db.query(sql, "CSV"))

    def ask(self, sql):
        sql = sql.replace("FROM row", "FROM d.row").replace("time_ms / 60000", "intDiv(time_ms, 60000)")
        return tuple(int(x.strip('"')) for x in self.run(sql + " SETTINGS max_threads = 1").strip().split(","))

    def bytes(self):
        return int(self.run("SELECT sum(bytes_on_disk) FROM system.parts WHERE database = 'd' AND active"))


def timed(act):
    began = time.process_time()
    return act(), 1000 * (time.process_time() - began)


def main():
    kind, rows, where, labels = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3], sys.argv[4:] == ["labels"]
    engine = {"sqlite": Sqlite, "duckdb": Duckdb, "clickhouse": Clickhouse}[kind]
    try:
        __import__({Sqlite: "sqlite3", Duckdb: "duckdb", Clickhouse: "chdb"}[engine])
    except ImportError:
        sys.exit(3)
    db, load_ms = timed(lambda: engine(rows, where, labels))
    n, last = (int(x) for x in db.ask("SELECT count(*), max(time_ms) FROM row"))
    print("rows", n)
    print("load", load_ms)
    print("bytes", db.bytes())
    for name, sql in ("merge_day", MERGE_DAY), ("quarter_hour", QUARTER_HOUR.format(last - 900000)), ("points", POINTS):
        print(name, min(timed(lambda: db.ask(sql))[1] for _ in range(3)), flush=True)


main()
