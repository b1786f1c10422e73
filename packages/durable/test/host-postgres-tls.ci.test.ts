import { spawnSync } from "node:child_process";
import { postgresHost } from "@sluice/durable/postgres";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { reading } from "../src/host/define.js";
import { type PostgresServer, startPostgres } from "./support/postgres-server.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.close());

const hasOpenSSL = spawnSync("sh", ["-c", "command -v openssl"]).status === 0;

test.skipIf(!hasOpenSSL)(
  "a process connects by TLS, and refuses a certificate that it does not trust",
  async () => {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    // in the folder of its data, and as its user, who alone may read the key
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
    const read = (connection: { readonly ssl: boolean | object }) => {
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
