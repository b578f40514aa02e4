"""The tables of a gradebook, in SQL."""

VERSION = 1  # of the tables; what `ADDED` adds does not change it

TABLES = """
create table runs (
    id integer primary key,
    started text not null,
    finished text,
    outcome text not null,
    assignment text not null,   -- where its assignment.toml lies
    stages text not null,       -- ids with commas between; empty for all
    key text not null,          -- digest of the grading key
    key_parts text not null,    -- the grading key itself, JSON
    isolation text not null     -- empty where nothing had to be graded
);
create table results (
    id integer primary key,
    run integer not null references runs,  -- that graded it
    student text not null,
    digest text not null,
    notes text not null,        -- of the reading: the digest does not cover what was ignored
    key text not null,          -- empty where the result is not to be used again
    stages text not null,
    result blob not null,       -- the bytes of result.json
    details blob not null,      -- for the teacher
    cpu_seconds real not null,
    wall_seconds real not null,
    isolation text not null
);
create index results_by_work on results (student, digest, key);
create table entries (
    run integer not null references runs,
    student text not null,
    result integer not null references results,
    primary key (run, student)
) without rowid;
"""

#: What later versions added. Earlier ones ignore it, so both can use the same gradebook.
ADDED = """
create table if not exists adjustments (
    id integer primary key,
    made text not null,
    student text not null,
    stage text not null,
    criterion text not null,
    points real,                -- what the criterion counts instead; null: as it was graded
    reason text not null
);
create table if not exists origins (
    run integer not null references runs,
    student text not null,
    origin blob not null,       -- what the platform and the roster said of the entry, JSON
    primary key (run, student)
) without rowid;
create table if not exists similar (
    run integer primary key references runs,
    pairs blob not null         -- submissions that were found alike, JSON
);
"""
