-- Version 4: bytes may be packed, and bytes beyond the bound of an hour are not kept.

ALTER TABLE step ADD COLUMN packed INTEGER NOT NULL DEFAULT 0; -- 1: `bytes` are compressed by zlib
ALTER TABLE step ADD COLUMN left_behind TEXT NOT NULL DEFAULT '{}'; -- by device, in place of bytes: the state after the row
