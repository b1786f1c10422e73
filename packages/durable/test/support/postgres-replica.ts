import { appendFile, chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import {
  createFolder,
  createServer,
  describeServer,
  freePort,
  type PostgresServer,
} from "./postgres-server.js";

/** A server that repeats each commit of a primary server, and accepts only reads. */
export interface Replica extends PostgresServer {
  /** Makes it accept writes. It then no longer follows the primary server. */
  promote(): Promise<void>;
  /** True once it has refused a write. */
  readonly hasRefused: boolean;
}

/** Starts a replica. From then on each commit of the primary server waits for it. */
export async function startReplica(primary: PostgresServer): Promise<Replica> {
  const folder = await createFolder();
  const admin = await connect(primary.url);
  const { rows } = await admin.query<{ data_directory: string }>("SHOW data_directory");
  await admin.query("SELECT pg_backup_start('replica', true)");
  // only the server's user may read its files
  await admin.query(
    `COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; cp -a ${rows[0]?.data_directory} ${folder}; rm ${folder}/data/postmaster.pid'`,
  );
  const label = await admin.query<{ labelfile: string }>("SELECT labelfile FROM pg_backup_stop()");
  const texts = { backup_label: label.rows[0]?.labelfile ?? "", "standby.signal": "" };
  for (const [name, text] of Object.entries(texts)) {
    await writeFile(join(folder, "data", name), text);
    await chmod(join(folder, "data", name), 0o666);
  }
  const { port: from } = primary;
  await appendFile(
    join(folder, "data", "postgresql.auto.conf"),
    `primary_conninfo = 'host=127.0.0.1 port=${from} user=postgres password=postgres'\n`,
  );
  const port = await freePort();
  let hasRefused = false;
  const server = createServer(folder, port, (message) => {
    hasRefused ||= message.includes("read-only transaction");
  });
  // resolves once the server accepts writes
  const promoted = server.start();
  promoted.catch(() => {});
  await untilFound(admin, "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'");
  await admin.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await admin.query("SELECT pg_reload_conf()");
  await untilFound(admin, "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'");
  await admin.end();
  const described = describeServer(server, folder, port);
  return {
    ...described,
    async promote() {
      const client = await connect(described.url);
      await client.query("SELECT pg_promote()");
      await client.end();
      await promoted;
    },
    get hasRefused() {
      return hasRefused;
    },
  };
}

/** Stops a server immediately, like a crash. */
export async function crashServer({ url, stop }: PostgresServer): Promise<void> {
  const admin = await connect(url);
  const { rows } = await admin.query<{ pid: number }>(
    "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int AS pid",
  );
  process.kill((rows[0] as { pid: number }).pid, "SIGQUIT");
  await stop();
}

async function connect(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** Repeats a query until it returns a row. */
async function untilFound(client: Client, sql: string): Promise<void> {
  while ((await client.query(sql)).rowCount === 0) await new Promise((resolve) => setTimeout(resolve, 50));
}
