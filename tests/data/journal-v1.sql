-- A journal as version 1 wrote it. Frozen: later versions must read it, and it is never made anew.
PRAGMA application_id = 0x53484F45;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE checkpoint (
    table_name TEXT PRIMARY KEY,
    row INTEGER NOT NULL,
    engine INTEGER NOT NULL,
    state TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "checkpoint" VALUES('t',10,1,'{"row":10,"session":{"line":null,"heard":[1700000009000000,3609000000000],"quiet":false,"away":true,"last":{"raw":"BTZEgcoDM0E=","sequence":"6","at":[1700000009000000,3609000000000],"copies":1},"asked":null},"watch":{"last_card":null,"last_at":null},"table":{"sequence":11,"phase":"dealing","shoe":1,"shoe_whole":false,"cut":false,"round":{"shoe":1,"number":2,"hands":{"player":["10H"],"banker":[]},"away":true,"partial":false,"complete":false},"last":{"told":{"shoe":1,"round":1,"game":"commission","player":{"cards":["8S","KS"],"points":8},"banker":{"cards":["3H","4H"],"points":7},"outcome":"player","pairs":[],"integrity":"complete"},"answer":"confirmed"},"device":{"link":"offline","reason":"the cable is out","heard_utc_us":1700000009000000,"fault":null,"locked":false},"rejections":null}}');
CREATE TABLE cursor (
    table_name TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL  -- the broker has acknowledged events up to here
) STRICT, WITHOUT ROWID;
INSERT INTO "cursor" VALUES('t',8);
CREATE TABLE event (
    table_name TEXT NOT NULL,
    sequence INTEGER NOT NULL, -- from 1 in each table, without a gap
    row INTEGER NOT NULL,
    type TEXT NOT NULL,
    utc_us INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (table_name, sequence)
) STRICT, WITHOUT ROWID;
INSERT INTO "event" VALUES('t',1,2,'device.online',1700000000001000,'{"port":"tcp://127.0.0.1:4001"}');
INSERT INTO "event" VALUES('t',2,3,'round.started',1700000001000000,'{"shoe":1,"round":1,"game":"commission","opened_by":"card","shoe_integrity":"partial"}');
INSERT INTO "event" VALUES('t',3,3,'card.drawn',1700000001000000,'{"shoe":1,"round":1,"index":1,"hand":"player","card":"8S","points":{"player":8,"banker":0},"provenance":3}');
INSERT INTO "event" VALUES('t',4,4,'card.drawn',1700000002000000,'{"shoe":1,"round":1,"index":2,"hand":"banker","card":"3H","points":{"player":8,"banker":3},"provenance":4}');
INSERT INTO "event" VALUES('t',5,5,'card.drawn',1700000003000000,'{"shoe":1,"round":1,"index":3,"hand":"player","card":"KS","points":{"player":8,"banker":3},"provenance":5}');
INSERT INTO "event" VALUES('t',6,6,'card.drawn',1700000004000000,'{"shoe":1,"round":1,"index":4,"hand":"banker","card":"4H","points":{"player":8,"banker":7},"provenance":6}');
INSERT INTO "event" VALUES('t',7,6,'round.completed',1700000004000000,'{"shoe":1,"round":1,"game":"commission","player":{"cards":["8S","KS"],"points":8},"banker":{"cards":["3H","4H"],"points":7},"outcome":"player","pairs":[],"integrity":"complete"}');
INSERT INTO "event" VALUES('t',8,8,'round.confirmed',1700000005000000,'{"shoe":1,"round":1,"ours":{"outcome":"player","pairs":[]},"theirs":{"outcome":"player","pairs":[]}}');
INSERT INTO "event" VALUES('t',9,9,'round.started',1700000009000000,'{"shoe":1,"round":2,"game":"commission","opened_by":"card","shoe_integrity":"partial"}');
INSERT INTO "event" VALUES('t',10,9,'card.drawn',1700000009000000,'{"shoe":1,"round":2,"index":1,"hand":"player","card":"10H","points":{"player":0,"banker":0},"provenance":9}');
INSERT INTO "event" VALUES('t',11,10,'device.offline',1700000009500000,'{"port":"tcp://127.0.0.1:4001","reason":"the cable is out"}');
CREATE TABLE journal (
    word TEXT NOT NULL,        -- random: the ids of a deleted journal never come back
    created TEXT NOT NULL      -- UTC
) STRICT;
INSERT INTO "journal" VALUES('k3v9x2mq','2025-11-18T09:00:00Z');
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
INSERT INTO "step" VALUES('t',1,1700000000000000,3600000000000,'{"came":"Configured","settings":"{}","engine":1,"version":"0.0"}',NULL,'[]','[]','[]',X'');
INSERT INTO "step" VALUES('t',2,1700000000001000,3600001000000,'{"came":"LinkUp","port":"tcp://127.0.0.1:4001"}',NULL,'[{"saw":"LinkOpened","at":[1700000000001000,3600001000000],"port":"tcp://127.0.0.1:4001"}]','[]','[]',X'');
INSERT INTO "step" VALUES('t',3,1700000001000000,3601000000000,'{"came":"Received","data":""}',X'05314481B8033446','[{"saw":"CardSeen","at":[1700000001000000,3601000000000],"frame":{"raw":"05 31 44 81 b8 03 34 46","offset":0,"sequence":"1"},"place":"player","position":1,"card":"8S"}]','[]','[]',X'');
INSERT INTO "step" VALUES('t',4,1700000002000000,3602000000000,'{"came":"Received","data":""}',X'05324491C3033237','[{"saw":"CardSeen","at":[1700000002000000,3602000000000],"frame":{"raw":"05 32 44 91 c3 03 32 37","offset":8,"sequence":"2"},"place":"banker","position":1,"card":"3H"}]','[]','[]',X'');
INSERT INTO "step" VALUES('t',5,1700000003000000,3603000000000,'{"came":"Received","data":""}',X'05334482BD033442','[{"saw":"CardSeen","at":[1700000003000000,3603000000000],"frame":{"raw":"05 33 44 82 bd 03 34 42","offset":16,"sequence":"3"},"place":"player","position":2,"card":"KS"}]','[]','[]',X'');
INSERT INTO "step" VALUES('t',6,1700000004000000,3604000000000,'{"came":"Received","data":""}',X'05344492C4033235','[{"saw":"CardSeen","at":[1700000004000000,3604000000000],"frame":{"raw":"05 34 44 92 c4 03 32 35","offset":24,"sequence":"4"},"place":"banker","position":2,"card":"4H"}]','[]','[]',X'');
INSERT INTO "step" VALUES('t',7,1700000004017000,3604017000000,'{"came":"Received","data":""}',X'05344492C4033235','[{"saw":"CopyHeard","at":[1700000004017000,3604017000000],"frame":{"raw":"05 34 44 92 c4 03 32 35","offset":32,"sequence":"4"}}]','[]','[]',X'');
INSERT INTO "step" VALUES('t',8,1700000005000000,3605000000000,'{"came":"Received","data":""}',X'05354790034531','[{"saw":"ResultSeen","at":[1700000005000000,3605000000000],"frame":{"raw":"05 35 47 90 03 45 31","offset":40,"sequence":"5"},"outcome":"player","pairs":[]}]','[]','[]',X'');
INSERT INTO "step" VALUES('t',9,1700000009000000,3609000000000,'{"came":"Received","data":""}',X'05364481CA033341','[{"saw":"CardSeen","at":[1700000009000000,3609000000000],"frame":{"raw":"05 36 44 81 ca 03 33 41","offset":47,"sequence":"6"},"place":"player","position":1,"card":"10H"}]','[]','[]',X'');
INSERT INTO "step" VALUES('t',10,1700000009500000,3609500000000,'{"came":"LinkDown","reason":"the cable is out"}',NULL,'[{"saw":"LinkClosed","at":[1700000009500000,3609500000000],"reason":"the cable is out"}]','[]','[]',X'');
COMMIT;
