-- One signature for many results (P20): for a result of such a batch, count and index (four bytes each, the highest first)
-- and the hashes of its path to the root (32 bytes each). Its signature is that of the batch. Elsewhere it is NULL.

ALTER TABLE pool_assignments ADD COLUMN batch BYTEA;
