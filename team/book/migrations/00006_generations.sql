-- +goose Up
-- A tenant that is added under the name of a removed one inherits nothing. What is kept of a tenant (sessions, spending,
-- reservations, audit log) is kept under the name of its store, which is never given twice: web, then web.2, web.3. That is
-- book_tenant.name; shown is the tenant's own name where it is another one.
--
-- The version before takes such a tenant for one called web.2. It opens no store of that name, so it answers its requests with
-- 503, and shows nothing of the removed one; it cannot add another tenant web, as folded has the tenant's own name. Tenants that
-- it removes are found by the audit log.
ALTER TABLE book_tenant ADD COLUMN shown TEXT NOT NULL DEFAULT '';
ALTER TABLE book_tenant ADD COLUMN cleared BIGINT NOT NULL DEFAULT 0; -- how often replicas had to forget what they hold of it
CREATE TABLE book_removed (
  store      TEXT NOT NULL PRIMARY KEY,
  folded     TEXT NOT NULL, -- the tenant's name in lower case
  generation BIGINT NOT NULL,
  removed    BIGINT NOT NULL,
  retention  BIGINT NOT NULL, -- the tenant's own, in days; 0: the gateway's
  erased     BIGINT NOT NULL  -- when everything was erased that was kept under the name of its store; 0: it is kept
);
CREATE INDEX book_removed_folded ON book_removed (folded);
INSERT INTO book_removed (store, folded, generation, removed, retention, erased)
  SELECT tenant, lower(tenant), 1, max(time), 0, 0 FROM book_audit
  WHERE did = 'tenant remove' AND lower(tenant) NOT IN (SELECT folded FROM book_tenant) GROUP BY tenant;
INSERT INTO book_compatible VALUES (6);

-- +goose Down
DELETE FROM book_compatible WHERE version = 6;
DROP TABLE book_removed;
ALTER TABLE book_tenant DROP COLUMN cleared;
ALTER TABLE book_tenant DROP COLUMN shown;
