-- Version 3: a table may have a shuffler beside its shoe; `sent` is what left for the shoe.

ALTER TABLE step ADD COLUMN sent_to_shuffler BLOB NOT NULL DEFAULT x'';
