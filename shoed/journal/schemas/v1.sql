-- The journal, version 1. Each later version is another numbered file. This file does not change: SQLite stores the text
-- of a statement in the journal, with the comments inside it.

PRAGMA application_id = 0x53484F45; -- "SHOE"

CREATE TABLE journal (
    word TEXT NOT NULL,        -- random: the ids of a deleted journal never come back
    created TEXT NOT NULL      -- UTC
) STRICT;

INSERT INTO journal VALUES (lower(hex(randomblob(4))), strftime('%Y-%m-%dT%H:%M:%SZ', 'now'));

-- One row per Step: an input of a table, and its results.
CREATE TABLE step (
    table_name TEXT NOT NULL,
    row INTEGER NOT NULL,      -- from 1 in each table: the provenance of a card
    utc_us INTEGER NOT NULL,
    mono_ns INTEGER NOT NULL,
    input TEXT NOT NULL,       -- JSON; of bytes from the line it says only that they came
    bytes BLOB,                -- and here they are
    observations TEXT NOT NULL,
    findings TEXT NOT NULL,
    orders TEXT NOT NULL,
    sent BLOB NOT NULL,        -- bytes for the device, which left after this row was committed
    PRIMARY KEY (table_name, row)
) STRICT, WITHOUT ROWID;

-- The outbox: the events to publish. The publisher reads it by cursor.
CREATE TABLE event (
    table_name TEXT NOT NULL,
    sequence INTEGER NOT NULL, -- from 1 in each table, without a gap
    row INTEGER NOT NULL,
    type TEXT NOT NULL,
    utc_us INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (table_name, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE cursor (
    table_name TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL  -- the broker has acknowledged events up to here
) STRICT, WITHOUT ROWID;

-- The state of session, watch and table after `row`. A start reads it in place of the whole record.
CREATE TABLE checkpoint (
    table_name TEXT PRIMARY KEY,
    row INTEGER NOT NULL,
    engine INTEGER NOT NULL,
    state TEXT NOT NULL
) STRICT, WITHOUT ROWID;
