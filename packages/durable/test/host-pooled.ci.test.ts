import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresHost } from "@sluice/durable/postgres";
import { hostTests } from "@sluice/durable/testing";
import { type Refusal, reading } from "@sluice/worker-proxy/plugin";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { openPair } from "./support/hosts.js";
import { freePort, type PostgresServer, startPostgres } from "./support/postgres-server.js";

/* A Postgres that processes reach through a pool in transaction mode, and by TLS. */

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.close());

const pgbouncer = findProgram("pgbouncer");
const openssl = findProgram("openssl");

function findProgram(name: string): string | undefined {
  try {
    return execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
  } catch {
    return undefined;
  }
}

describe.skipIf(!pgbouncer)("PgBouncer in transaction mode, if it is installed", () => {
  let pool: Awaited<ReturnType<typeof startPool>>;
  let ignoring: typeof pool;
  beforeAll(async () => {
    pool = await startPool(pgbouncer as string);
    ignoring = await startPool(pgbouncer as string, `ignore_startup_parameters = options,${STARTUP}`);
  });
  afterAll(async () => {
    await pool.close();
    await ignoring.close();
  });

  hostTests({
    open: (part) => openPair({ url: pool.url, sessionURL: server.url }, part),
    test: (title, run) => test(`serves two processes: ${title}`, run),
  });

  test("is refused without `sessionURL`, whether it refuses or ignores the settings of a connection", async () => {
    expect(await readRefusal(pool.url)).toMatch(/leads to a pool; set sessionURL/);
    expect(await readRefusal(ignoring.url)).toMatch(/ignore the schema; set sessionURL/);
  });
});

test("an address that sets another schema is refused: the tables would be in that schema", async () => {
  expect(await readRefusal(`${server.url}?options=-c%20search_path%3Dpublic`)).toMatch(/ignore the schema/);
});

/** Runs an operation, and returns the problem that the operator reads in the log. */
async function readRefusal(url: string): Promise<unknown> {
  const host = postgresHost({ url, schema: "refused" });
  onTestFinished(() => host.close(0));
  const step = reading("pooled.read", async () => null);
  const bound = host.open({ parts: [{ tables: [], operations: [step] }], report: () => {} })({});
  const error = await bound.run("a", step, null).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ reason: "misconfigured" });
  return (error as Refusal).details.problem;
}

/** Settings that the host gives each connection. */
const STARTUP = "statement_timeout,lock_timeout,idle_in_transaction_session_timeout";

/** Starts a PgBouncer in transaction mode with four connections. Other settings have their defaults. */
async function startPool(program: string, ...more: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), "sluice-pool-"));
  const port = await freePort();
  const lines = [
    ...["[databases]", `postgres = host=127.0.0.1 port=${server.port}`, "[pgbouncer]"],
    ...["listen_addr = 127.0.0.1", `listen_port = ${port}`, "unix_socket_dir =", "auth_type = plain"],
    ...[`auth_file = ${join(folder, "users.txt")}`, "pool_mode = transaction", "default_pool_size = 4"],
    ...more,
  ];
  await writeFile(join(folder, "pool.ini"), lines.join("\n"));
  await writeFile(join(folder, "users.txt"), '"postgres" "postgres"\n');
  await chmod(folder, 0o755);
  // it refuses to run as root
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const child = spawn(program, [...user, join(folder, "pool.ini")], { stdio: "ignore" });
  const url = `postgres://postgres:postgres@127.0.0.1:${port}/postgres`;
  await vi.waitFor(() => connect(url), { timeout: 20_000 });
  return {
    url,
    async close() {
      if (child.kill()) await once(child, "exit");
      await rm(folder, { recursive: true });
    },
  };
}

async function connect(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.end();
}

test.skipIf(!openssl)(
  "a process connects by TLS, and refuses a certificate that it does not trust",
  async () => {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    // only the server's user may read the key
    const request = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout server.key -out server.crt";
    const name = "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1";
    await client.query(
      `COPY (SELECT 1) TO PROGRAM 'umask 77; cat > /dev/null; ${request} ${name} 2> /dev/null'`,
    );
    await client.query("ALTER SYSTEM SET ssl = on");
    await client.query("SELECT pg_reload_conf()");
    const { rows } = await client.query<{ ca: string }>("SELECT pg_read_file('server.crt') AS ca");
    await client.end();
    const readEncryption = reading("tls.read", async ({ query }, _: null) => {
      const [row] = await query<{ ssl: boolean }>("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
      return row?.ssl;
    });
    const read = (connection: Parameters<typeof postgresHost>[0]["connection"] = {}) => {
      const host = postgresHost({ url: server.url, connection });
      onTestFinished(() => host.close(0));
      const part = { tables: [], operations: [readEncryption] };
      return host
        .open({ parts: [part], report: () => {} })({})
        .run("a", readEncryption, null);
    };
    // the server reads its new settings a moment later
    await expect.poll(() => read({ ssl: { ca: rows[0]?.ca } }).catch(() => "refused")).toBe(true);
    await expect(read({ ssl: true })).rejects.toThrow("self-signed certificate");
  },
);
