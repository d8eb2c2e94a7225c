-- Version 3: a table may have a shuffler. `sent` contains the bytes sent to the shoe.

ALTER TABLE step ADD COLUMN sent_to_shuffler BLOB NOT NULL DEFAULT x'';
