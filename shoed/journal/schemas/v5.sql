-- Version 5: every row has the hash of the row before it. The rows of earlier versions stay in `step_4`, under a seal.

ALTER TABLE step RENAME TO step_4;

-- One row per Step. docs/journal.md states the format of `body` and the content of `hash`.
CREATE TABLE step (
    table_name TEXT NOT NULL,
    row INTEGER NOT NULL,      -- continues the numbers of step_4: the provenance of a card
    utc_us INTEGER NOT NULL,
    mono_ns INTEGER NOT NULL,
    kind TEXT NOT NULL,        -- of the input
    command TEXT,              -- the id of the answered command
    bytes BLOB,                -- received bytes
    body BLOB NOT NULL,        -- the number of a dictionary in one byte, then compressed JSON
    state BLOB,                -- SHA-256 of the checkpoint after this row
    hash BLOB NOT NULL,        -- SHA-256 of the previous hash, this row and its events
    PRIMARY KEY (table_name, row)
) STRICT, WITHOUT ROWID;

CREATE INDEX step_command ON step (table_name, command) WHERE command IS NOT NULL;
CREATE INDEX step_configured ON step (table_name, row) WHERE kind = 'Configured';

-- The preset dictionary of the compression. Each number has one content for ever.
CREATE TABLE dictionary (
    number INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT;

-- The chain of a table begins after this row: at the end of the sealed rows, or at a cut.
CREATE TABLE anchor (
    table_name TEXT NOT NULL,
    row INTEGER NOT NULL,
    sequence INTEGER NOT NULL, -- of the last event of the row or of the rows before it
    hash BLOB NOT NULL,
    state BLOB,                -- SHA-256 of the checkpoint after this row
    reason TEXT NOT NULL,      -- 'seal' or 'cut'
    utc_us INTEGER NOT NULL,
    signature BLOB,
    PRIMARY KEY (table_name, row)
) STRICT, WITHOUT ROWID;

-- The hashes of the rows of earlier versions, one for each run of rows.
CREATE TABLE seal (
    table_name TEXT NOT NULL,
    row INTEGER NOT NULL,      -- the last row of the run
    sequence INTEGER NOT NULL, -- the last event of the run or of the runs before it
    hash BLOB NOT NULL,        -- SHA-256 of the previous hash, and the rows and events of the run
    PRIMARY KEY (table_name, row)
) STRICT, WITHOUT ROWID;

-- Several states for each table. The row has the digest of its state.
ALTER TABLE checkpoint RENAME TO checkpoint_4;
CREATE TABLE checkpoint (
    table_name TEXT NOT NULL,
    row INTEGER NOT NULL,
    engine INTEGER NOT NULL,
    sequence INTEGER NOT NULL, -- the last event
    kept INTEGER NOT NULL,     -- 1: the start of a shoe without an open question
    seed TEXT NOT NULL,        -- JSON for another engine; empty while a round or a question is open
    state TEXT NOT NULL,       -- JSON
    PRIMARY KEY (table_name, row)
) STRICT, WITHOUT ROWID;
INSERT INTO checkpoint SELECT table_name, row, engine,
    (SELECT coalesce(max(sequence), 0) FROM event WHERE event.table_name = checkpoint_4.table_name), 0, '', state
    FROM checkpoint_4;
DROP TABLE checkpoint_4;

-- The signed ends of the chains.
CREATE TABLE head (
    table_name TEXT NOT NULL,
    row INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    shoe INTEGER NOT NULL,
    round INTEGER NOT NULL,
    utc_us INTEGER NOT NULL,
    hash BLOB NOT NULL,
    incarnation TEXT NOT NULL, -- the word in the event ids
    key INTEGER NOT NULL,      -- its number
    signature BLOB NOT NULL,
    PRIMARY KEY (table_name, row)
) STRICT, WITHOUT ROWID;

-- Every public key that signed.
CREATE TABLE key (
    number INTEGER PRIMARY KEY,
    public BLOB NOT NULL,
    utc_us INTEGER NOT NULL,
    reason TEXT NOT NULL,
    announced BLOB             -- signature of the previous key
) STRICT;

-- The word in the ids of events. A journal that may have lost rows begins another incarnation.
CREATE TABLE incarnation (
    number INTEGER PRIMARY KEY,
    word TEXT NOT NULL,
    utc_us INTEGER NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
INSERT INTO incarnation SELECT 1, word, CAST(strftime('%s', created) AS INTEGER) * 1000000, 'created', '' FROM journal;

-- An incarnation begins after this row and event of a table. A table without a row here does not use its word.
CREATE TABLE incarnation_table (
    number INTEGER NOT NULL,
    table_name TEXT NOT NULL,
    row INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    previous TEXT,             -- the word of the last event that is known outside the journal
    known INTEGER,             -- its sequence number
    shoe INTEGER NOT NULL,
    round INTEGER NOT NULL,
    PRIMARY KEY (number, table_name)
) STRICT, WITHOUT ROWID;

-- The gaps that a salvage found: rows that are missing or not proven, and missing events before the first event of a row.
CREATE TABLE loss (
    table_name TEXT NOT NULL,
    row INTEGER NOT NULL,
    last_row INTEGER NOT NULL,
    kind TEXT NOT NULL,        -- 'missing', 'unproven' or 'events'
    sequence INTEGER,          -- of 'events': the first missing one
    last_sequence INTEGER,
    PRIMARY KEY (table_name, row, kind)
) STRICT, WITHOUT ROWID;

INSERT INTO dictionary VALUES (1, CAST('{"found":"DrawnTogether","cards":,"order_known":{"found":"Unread","meaning":,"code":{"found":"TooOften","card":,"times":,"decks":,"delivered":{"found":"TooMany","cards":,"whole":{"found":"SetWrong","missing":,"extra":,"coming":{"found":"OtherSet","delivered":,"loaded":{"found":"ShuffleFailed","reason":,"set_id":{"found":"OrderAltered","card":,"expected":{"found":"NotShuffled","cards":{"saw":"WentQuiet","since":{"saw":"HeardAgain"{"saw":"DeviceDoubted","reason":,"detail":{"saw":"DeviceTrusted","reason":{"saw":"SequenceClashed","previous":{"saw":"SequenceJumped","expected":,"missed_at_least":{"saw":"Resumed","continuity":,"missed_at_least":,"expected":,"proven":{"saw":"Identified","vendor":,"model":,"serial":,"firmware":,"protocol":,"capabilities":{"saw":"CommunicationStarted"{"saw":"StoodBy"{"saw":"Replied","text":{"saw":"FaultRaised","code":,"name":,"blocking":,"meaning":{"saw":"FaultCleared","code":,"name":{"saw":"LockChanged","locked":{"saw":"DeviceStatus","locked":,"faults":,"set_id":{"saw":"PresetChanged","address":,"value":{"saw":"ShoeLoaded","set_id":{"saw":"ShoeEmptied"{"saw":"SetRecognised","set_id":{"saw":"ShuffleStarted","set_id":{"saw":"ShuffleEnded","failed":,"set_id":{"saw":"SetDelivered","counts":,"order":,"set_id":,"unread":{"saw":"OrderAnswered","order":,"accepted":,"detail":,"answered_by":,"form":player-pair","banker-pair","pairs":["player","banker"]card-in-excess","card-exposed","wrong-side","drawn-together","insurance-neglected"{"input":{"came":"Configured","settings":"{\"name\":\"bac-1\",\"game\":\"commission\",\"decks\":8,\"shoe\":{\"protocol\":\"angel-eye\",\"port\":\"serial:///dev/serial/by-id/usb-","engine":9,"version":"0."input":{"came":"LinkUp","port":"tcp://127.0.0.1:4001","device":"shuffler"},"observations":[{"saw":"LinkOpened","at":"input":{"came":"LinkDown","reason":"the device does not answer"},"observations":[{"saw":"LinkClosed","at":[1"input":{"came":"BytesRefused","reason":"not-authentic","detail":"","unkept":"reason":"bad-check","reason":"torn","reason":"unknown-command","heard":"count":"earlier":"unkept":"raw":"ff ff ff ff 00 00 00 00","offset":"reason":"junk","detail":"outside any frame"}"after_noise":{"shoe":{"session":{"kept":{"since_ns":"spent":"rows":"full":true,"unkept":"sends":[["shuffler",""findings":[{"found":"quiet":[["input":{"came":"Told","command":{"command":"decide","question":"q1","choice":"void"},"author":{"name":"","role":"pit-supervisor"},"id":""},"orders":[{"kind":"lock"}],"answers":[{"id":"","accepted":false,"detail":"there is no question"accepted":true,"detail":""}]}{"input":{"came":"Woken"},"observations":[{"saw":"FrameRejected","at":["edges":"quality":"measured":"drawn":"unknown":true,"code":"target":{"hand":"banker","position":3,"card":"10{"input":{"came":"Received","data":"","late_ns":1,"device":"shuffler"},"observations":[{"saw":"CopyHeard","at":["saw":"CutCardSeen","at":["saw":"ResultSeen","at":[,"outcome":"tie","outcome":"banker","outcome":"player","pairs":[]}]}],"frame":{"raw":"02 80 81 90 91 c1 ","offset":1,"sequence":""},"place":"banker","position":2,"card":"JH"}],"sends":[["shoe","Bg=="]]}{"input":{"came":"Received","data":""},"observations":[{"saw":"CardSeen","at":[1700000000000000,3600000000000],"frame":{"raw":"05 31 44 81 b8 03 34 46","offset":0,"sequence":"1"},"place":"player","position":1,"card":"8S"}]}' AS BLOB));
