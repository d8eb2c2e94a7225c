-- Version 4: bytes may be compressed. Bytes above the limit of an hour are not kept.

ALTER TABLE step ADD COLUMN packed INTEGER NOT NULL DEFAULT 0; -- 1: `bytes` are compressed by zlib
ALTER TABLE step ADD COLUMN left_behind TEXT NOT NULL DEFAULT '{}'; -- by device: the state after a row whose bytes are not kept
