import type { Sql } from "postgres";

/** Errors of the functions below, by their SQLSTATE. */
const LEASE_OVER = "SL001";
const NOT_OWNER = "SL002";

/** Longest wait for a lock, in milliseconds: an object is locked for one write. */
const LOCK_MS = 5_000;

const NOW_MS = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
const FUNCTION = `LANGUAGE plpgsql SET lock_timeout = ${LOCK_MS}`;

/**
 * Tables and functions, and their later changes. A step that has been released is never changed; another one is added.
 * Processes of the version before go on while a later one is deployed: what they call must stay.
 *
 * - `processes` has a row for each process that lives, and for an hour longer for each that was lost.
 * - `objects`: `owner` is the process that has the object; `token` is another one with each owner, and only who knows it
 *   may write. `alarm` is in milliseconds of the database's clock, `alarm_set` in those of the process that set it.
 * - `rows` has what objects store, as JSON.
 */
const STEPS: readonly ((schema: string, channel: string) => string)[] = [
  (schema, channel) => `
CREATE TABLE ${schema}.processes (id uuid PRIMARY KEY, address text NOT NULL, lives_until timestamptz NOT NULL);
CREATE TABLE ${schema}.objects (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, binding text NOT NULL,
  name text NOT NULL, tables text NOT NULL DEFAULT '[]', alarm bigint, alarm_set bigint, owner uuid, token uuid, UNIQUE (binding, name));
CREATE INDEX objects_by_owner ON ${schema}.objects (owner, alarm) WHERE owner IS NOT NULL;
CREATE INDEX objects_by_alarm ON ${schema}.objects (alarm) WHERE owner IS NULL AND alarm IS NOT NULL;
CREATE TABLE ${schema}.rows (object bigint, place text, table_name text NOT NULL, row text NOT NULL, bytes bytea,
  PRIMARY KEY (object, place));

-- Takes an object that no live process has. Returns a row of itself, and then its rows; only the owner's address where
-- another one has it.
CREATE FUNCTION ${schema}.claim(of_binding text, of_name text, me uuid, new_token uuid)
  RETURNS TABLE (place text, table_name text, "row" text, bytes bytea) ${FUNCTION} AS $$
DECLARE
  object ${schema}.objects;
  elsewhere text;
BEGIN
  PERFORM 1 FROM ${schema}.processes p WHERE p.id = me AND p.lives_until > clock_timestamp();
  IF NOT FOUND THEN RAISE EXCEPTION 'the lease of this process is over' USING ERRCODE = '${LEASE_OVER}'; END IF;
  -- most of what another process has is found without a lock, and without waiting for its writes
  SELECT p.address INTO elsewhere FROM ${schema}.objects o JOIN ${schema}.processes p ON p.id = o.owner
    WHERE o.binding = of_binding AND o.name = of_name AND o.owner <> me AND p.lives_until > clock_timestamp();
  IF FOUND THEN
    RETURN QUERY SELECT NULL::text, elsewhere, NULL::text, NULL::bytea;
    RETURN;
  END IF;
  LOOP
    SELECT * INTO object FROM ${schema}.objects o WHERE o.binding = of_binding AND o.name = of_name FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO ${schema}.objects (binding, name, owner, token) VALUES (of_binding, of_name, me, new_token)
      ON CONFLICT DO NOTHING RETURNING * INTO object;
    EXIT WHEN FOUND;
  END LOOP;
  IF object.owner <> me THEN
    SELECT p.address INTO elsewhere FROM ${schema}.processes p
      WHERE p.id = object.owner AND p.lives_until > clock_timestamp();
    IF FOUND THEN
      RETURN QUERY SELECT NULL::text, elsewhere, NULL::text, NULL::bytea;
      RETURN;
    END IF;
  END IF;
  IF object.token IS DISTINCT FROM new_token THEN
    UPDATE ${schema}.objects o SET owner = me, token = new_token WHERE o.id = object.id;
  END IF;
  RETURN QUERY SELECT NULL::text, NULL::text, json_build_object('id', object.id::text, 'tables', object.tables,
    'alarm', object.alarm_set, 'alarmIn', object.alarm - ${NOW_MS})::text, NULL::bytea;
  RETURN QUERY SELECT r.place, r.table_name, r.row, r.bytes FROM ${schema}.rows r WHERE r.object = object.id;
END $$;

-- Keeps the writes of an object's turns, if this process still has it: one of the tokens is the object's.
CREATE FUNCTION ${schema}.keep(of_object bigint, me uuid, known uuid[], new_token uuid, changes text)
  RETURNS void ${FUNCTION} AS $$
DECLARE
  change json := changes::json;
BEGIN
  IF change->'tables' IS NOT NULL OR change->'alarmIn' IS NOT NULL OR new_token <> ALL (known) THEN
    UPDATE ${schema}.objects o SET token = new_token, tables = coalesce(change->>'tables', o.tables),
      alarm = CASE WHEN change->'alarmIn' IS NULL THEN o.alarm ELSE (change->>'alarmIn')::bigint + ${NOW_MS} END,
      alarm_set = CASE WHEN change->'alarmIn' IS NULL THEN o.alarm_set ELSE (change->>'alarm')::bigint END
      WHERE o.id = of_object AND o.owner = me AND o.token = ANY (known);
  ELSE
    PERFORM 1 FROM ${schema}.objects o WHERE o.id = of_object AND o.owner = me AND o.token = ANY (known)
      FOR NO KEY UPDATE;
  END IF;
  IF NOT FOUND THEN RAISE EXCEPTION 'another process has the object' USING ERRCODE = '${NOT_OWNER}'; END IF;
  IF change->'tables' IS NOT NULL THEN DELETE FROM ${schema}.rows r WHERE r.object = of_object; END IF;
  IF change->'removed' IS NOT NULL THEN
    DELETE FROM ${schema}.rows r WHERE r.object = of_object
      AND r.place IN (SELECT json_array_elements_text(change->'removed'));
  END IF;
  INSERT INTO ${schema}.rows SELECT of_object, r->>0, r->>1, r->>2, decode(r->>3, 'base64')
    FROM json_array_elements(change->'rows') r
    ON CONFLICT (object, place) DO UPDATE SET row = excluded.row, bytes = excluded.bytes;
END $$;

-- Gives objects up: those that have nothing leave nothing. Returns the milliseconds to the earliest of their alarms.
CREATE FUNCTION ${schema}.release(ids bigint[]) RETURNS bigint ${FUNCTION} AS $$
DECLARE
  first bigint;
BEGIN
  DELETE FROM ${schema}.objects o WHERE o.id = ANY (ids) AND o.tables = '[]' AND o.alarm IS NULL;
  WITH freed AS (UPDATE ${schema}.objects o SET owner = NULL, token = NULL WHERE o.id = ANY (ids) RETURNING o.alarm)
    SELECT min(f.alarm) - ${NOW_MS} INTO first FROM freed f;
  RETURN first;
END $$;

-- Renews the lease of a process, gives up the objects that left its memory ({ id: token }), and some of lost processes.
CREATE FUNCTION ${schema}.beat(me uuid, lease_ms bigint, given text, most int)
  RETURNS TABLE (is_alive boolean, is_more boolean, alarm_in bigint) ${FUNCTION} AS $$
DECLARE
  left_here bigint[];
  lost bigint[];
BEGIN
  UPDATE ${schema}.processes p SET lives_until = clock_timestamp() + lease_ms * interval '1 millisecond'
    WHERE p.id = me AND p.lives_until > clock_timestamp();
  is_alive := FOUND;
  SELECT array_agg(o.id) INTO left_here FROM (
    SELECT o.id FROM json_each_text(given::json) g JOIN ${schema}.objects o
      ON o.id = g.key::bigint AND o.owner = me AND o.token = g.value::uuid FOR NO KEY UPDATE OF o) o;
  SELECT array_agg(o.id) INTO lost FROM (
    SELECT o.id FROM ${schema}.processes p JOIN ${schema}.objects o ON o.owner = p.id
      WHERE p.lives_until < clock_timestamp() LIMIT most FOR NO KEY UPDATE OF o SKIP LOCKED) o;
  is_more := coalesce(cardinality(lost), 0) >= most;
  alarm_in := ${schema}.release(left_here || lost);
  DELETE FROM ${schema}.processes p WHERE p.lives_until < clock_timestamp() - interval '1 hour'
    AND NOT EXISTS (SELECT 1 FROM ${schema}.objects o WHERE o.owner = p.id);
  RETURN NEXT;
END $$;

-- Takes objects whose alarm is due and that nobody has, and names those that this process has. The last row has the
-- milliseconds to the next alarm.
CREATE FUNCTION ${schema}.due(me uuid, new_token uuid, most int)
  RETURNS TABLE (binding text, name text, next_in bigint) ${FUNCTION} AS $$
DECLARE
  now_ms bigint := ${NOW_MS};
BEGIN
  PERFORM 1 FROM ${schema}.processes p WHERE p.id = me AND p.lives_until > clock_timestamp();
  IF NOT FOUND THEN RAISE EXCEPTION 'the lease of this process is over' USING ERRCODE = '${LEASE_OVER}'; END IF;
  RETURN QUERY SELECT o.binding, o.name, NULL::bigint FROM ${schema}.objects o
    WHERE o.owner = me AND o.alarm <= now_ms ORDER BY o.alarm LIMIT most;
  RETURN QUERY WITH found AS (SELECT o.id FROM ${schema}.objects o WHERE o.owner IS NULL AND o.alarm <= now_ms
      ORDER BY o.alarm LIMIT most FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE ${schema}.objects o SET owner = me, token = new_token FROM found WHERE o.id = found.id
      RETURNING o.binding, o.name, NULL::bigint;
  RETURN QUERY SELECT NULL::text, NULL::text, (SELECT o.alarm FROM ${schema}.objects o
    WHERE o.owner IS NULL AND o.alarm IS NOT NULL ORDER BY o.alarm LIMIT 1) - now_ms;
END $$;

-- Ends a process, which gives up all objects that it has.
CREATE FUNCTION ${schema}.leave(me uuid) RETURNS bigint ${FUNCTION} AS $$
DECLARE
  first bigint;
BEGIN
  first := ${schema}.release((SELECT array_agg(o.id) FROM ${schema}.objects o WHERE o.owner = me));
  DELETE FROM ${schema}.processes p WHERE p.id = me;
  IF first IS NOT NULL THEN PERFORM pg_notify(${channel}, first::text); END IF;
  RETURN first;
END $$;`,
];

/** Returns the name of a schema as a part of a statement. */
export function quotedName(schema: string): string {
  return `"${schema.replaceAll('"', '""')}"`;
}

/** Returns the channel on which a process that ends says when the next alarm of its objects is due. */
export function channelOf(schema: string): string {
  return `sluice alarms ${schema}`;
}

/**
 * Makes the tables and functions, or brings those of an earlier version up to date. Processes that start together wait
 * for each other.
 *
 * @param schema the name of a schema of Postgres, which is made where it is missing
 * @throws {Error} where a later version of this package wrote them
 */
export async function migrate(sql: Sql, schema: string): Promise<void> {
  const quoted = quotedName(schema);
  await sql.begin(async (transaction) => {
    await transaction`SELECT pg_advisory_xact_lock(hashtextextended(${`sluice ${schema}`}, 0))`;
    const known = await transaction`SELECT to_regclass(${`${quoted}.version`}) IS NOT NULL AS "isThere"`;
    const version = known[0]?.["isThere"] ? await versionIn() : 0;
    if (version > STEPS.length)
      throw new Error(
        `schema ${schema}: a later version of @sluice/durable wrote it; use that one, or another schema`,
      );
    if (version === STEPS.length) return;
    if (version === 0)
      await transaction.unsafe(`CREATE SCHEMA IF NOT EXISTS ${quoted};
        CREATE TABLE ${quoted}.version (number int NOT NULL); INSERT INTO ${quoted}.version VALUES (0)`);
    const channel = `'${channelOf(schema).replaceAll("'", "''")}'`;
    for (const step of STEPS.slice(version)) await transaction.unsafe(step(quoted, channel));
    await transaction.unsafe(`UPDATE ${quoted}.version SET number = ${STEPS.length}`);

    async function versionIn(): Promise<number> {
      const [row] = await transaction.unsafe(`SELECT number FROM ${quoted}.version`);
      return Number(row?.["number"]);
    }
  });
}
