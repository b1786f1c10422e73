import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LOCALHOST, localhost, PRODUCTION_KEY } from "../support/new-app.ts";

/* The checklist that all new apps share, with settings and with servers that do not meet it. */

const ours = join(import.meta.dirname, "../../packages/create-sluice");
const template = join(ours, "dist/templates/node");
const folder = mkdtempSync(join(tmpdir(), "sluice-check-"));
let server: Server;
/** Responses of the deployed app by request: `POST /api/session`, `chat of nobody`. */
let responses: Readonly<Record<string, readonly [status: number, body: object]>> = {};
let address = "";

beforeAll(async () => {
  server = createServer(localhost, (request, outgoing) => {
    const { url = "", headers } = request;
    const known = headers.authorization?.includes(".") ? "a user" : "nobody";
    const [status, body] = responses[url.includes("chat") ? `chat of ${known}` : url] ?? [404, {}];
    outgoing.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  address = `https://localhost:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const secret = "a secret of production, of 32 characters";

/** Runs the checklist with correct settings, overridden by `given`. */
async function check(
  given: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  app = template,
  more: Readonly<Record<string, string>> = {},
) {
  const settings = {
    APP_URL: address,
    GATEWAY_URL: "https://gateway.sluice.test",
    GATEWAY_API_KEY: PRODUCTION_KEY,
    SESSION_SECRET: secret,
    ...given,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(folder, ".env.production.local"), lines.join(""));
  writeFileSync(join(folder, ".env.local"), "SESSION_SECRET=a secret of development, of 32 characters\n");
  const env = { PATH: process.env["PATH"], NODE_EXTRA_CA_CERTS: LOCALHOST, ...more };
  const child = spawn(process.execPath, [join(app, "scripts/check-deploy.ts"), ...args], {
    cwd: folder,
    env,
  });
  let printed = "";
  child.stdout.on("data", (piece) => (printed += piece));
  const [status] = await once(child, "close");
  const todo = [...printed.matchAll(/^TODO (.*)$/gm)].map(([, line]) => line);
  return { status, todo };
}

const met = {
  "/api/health": [200, { status: "ok" }],
  "/api/session": [401, {}],
  "chat of nobody": [401, {}],
  "chat of a user": [401, {}],
} as const;

describe("the settings of production", () => {
  test("Settings that are met are accepted before a deploy", async () => {
    expect(await check({}, ["--before"])).toEqual({ status: 0, todo: [] });
  });

  test.each([
    [{ APP_URL: "" }, "address: APP_URL is empty."],
    [{ APP_URL: "http://chat.sluice.test" }, "address: APP_URL is http://chat.sluice.test."],
    [{ APP_URL: "https://chat.sluice.test/" }, "origins: https://chat.sluice.test/ is not an origin."],
    [{ GATEWAY_URL: "https://gateway.example.com" }, "gateway: GATEWAY_URL is an example's."],
    [{ GATEWAY_URL: "http://127.0.0.1:8788" }, "gateway: GATEWAY_URL is http://127.0.0.1:8788."],
    [{ ORIGINS: "http://localhost:5173" }, "origins: http://localhost:5173 may call the server."],
    [{ GATEWAY_API_KEY: "" }, "gateway's key: GATEWAY_API_KEY is empty."],
    [{ GATEWAY_API_KEY: "sk-test" }, "gateway's key: GATEWAY_API_KEY is the emulator's."],
    [{ SESSION_SECRET: "short" }, "sign-in secret: SESSION_SECRET has fewer than 32 characters."],
    [
      { SESSION_SECRET: "a secret of development, of 32 characters" },
      "sign-in secret: SESSION_SECRET is the one of development.",
    ],
  ])("%j is named with what to do, and ends with 1", async (given, problem) => {
    const { status, todo } = await check(given, ["--before"]);
    expect([status, todo]).toEqual([1, expect.arrayContaining([expect.stringContaining(problem)])]);
  });

  test("A model without a bound of its price is named", async () => {
    // inside the package, so that Node finds its `node_modules`
    const app = mkdtempSync(join(ours, "dist/.check-"));
    try {
      cpSync(template, app, { recursive: true });
      const models = readFileSync(join(app, "server/models.ts"), "utf8");
      writeFileSync(
        join(app, "server/models.ts"),
        models.replace('"delta-5.3": { max_tokens: 8192 }', '"delta-5.3": {}'),
      );
      const { status, todo } = await check({}, ["--before"], app);
      expect([status, todo]).toEqual([
        1,
        [
          "price bounds: delta-5.3 has no max_tokens in server/models.ts: one response could cost any amount.",
        ],
      ]);
    } finally {
      rmSync(app, { recursive: true });
    }
  });
});

describe("the deployed app", () => {
  test("is not replaced by one with another secret, which would sign out all users, unless that is wanted", async () => {
    responses = met;
    const wanted = { NEW_SESSION_SECRET: "yes" };
    const { status, todo } = await check({}, ["--before"]);
    expect([status, todo]).toEqual([
      1,
      [expect.stringContaining("deployed secret: The app at https://localhost:")],
    ]);
    expect(await check({}, ["--before"], template, wanted)).toEqual({ status: 0, todo: [] });
    responses = { ...met, "chat of a user": [403, { error: { code: "model_not_allowed" } }] };
    expect(await check({}, ["--before"])).toEqual({ status: 0, todo: [] });
    // another app at the address isn't replaced by the deploy
    responses = { ...met, "/api/health": [404, {}] };
    expect(await check({}, ["--before"])).toEqual({ status: 0, todo: [] });
  });

  test.each([
    [
      "that can't be reached",
      { APP_URL: "https://localhost:1" },
      {},
      "health: https://localhost:1 can't be reached.",
    ],
    [
      "that is another one",
      {},
      { "/api/health": [404, {}] },
      "is not there. Is APP_URL the address of this app?",
    ],
    [
      "whose gateway refuses the key",
      {},
      { "/api/health": [503, { status: "upstream_auth" }] },
      "health: /api/health responds with 503 upstream_auth.",
    ],
    [
      "that lets strangers in",
      {},
      { "/api/session": [200, {}] },
      "sign-in: strangers: Everybody gets a session. Run the app with NODE_ENV=production.",
    ],
    [
      "that knows the secret of development",
      {},
      { "chat of a user": [403, { error: { code: "model_not_allowed" } }] },
      "sign-in: development: A token of development gets 403",
    ],
    ["with another secret", {}, {}, "sign-in: users: The deployed SESSION_SECRET is not that of"],
  ] as const)("An app %s is named with what to do, and ends with 1", async (_, given, wrong, problem) => {
    responses = { ...met, ...wrong };
    const { status, todo } = await check(given);
    expect([status, todo]).toEqual([1, expect.arrayContaining([expect.stringContaining(problem)])]);
  });
});
