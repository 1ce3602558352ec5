-- A database that was made before PostgreSQL 15, or from a template of its own,
-- may let everybody create objects in the schema public; nothing of ours is
-- there, and nothing that others put there may shadow it.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
