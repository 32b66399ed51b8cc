-- Votes on redundant jobs (P15). A vote is the hash that the coordinator computed from a result, which can differ from
-- the output_hash that the worker signed. Rows from before this version have no vote: for them output_hash is the vote.

ALTER TABLE pool_assignments ADD COLUMN vote TEXT COLLATE "C";
