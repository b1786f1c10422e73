import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type Client, completeChat } from "@sluice/core";
import { decodeJwt } from "jose";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { secretToken } from "../../packages/worker-proxy/test/support/auth-issuer.ts";
import { writeFilesOfPage } from "../support/page-files.ts";
import { createChatRequest, GATEWAY_KEY, openNetwork, type Worker } from "../support/recipe-network.ts";

/* The recipe of guests with Turnstile, with a stand-in for siteverify on a port of this machine. */

const APP = "https://app.example.com";
const PROXY = "gateway-proxy.example.workers.dev";
const TOKEN = "0.uK3wE8rT5yU1iO7pA2sD9fG4hJ6kL.widget";
const env = {
  GATEWAY_API_KEY: GATEWAY_KEY,
  TURNSTILE_SECRET_KEY: "0x4AAkZ7pQ2mW9xR5tN8vB3cL6dH1fG",
  SESSION_SECRET: "jP4mXw8Rz1Kc7Vb3Nq9Ld5Ht2Gf6Ys0A",
};
const verdict = { success: true, "error-codes": [], hostname: "app.example.com", action: "chat" };
const question = { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] } as const;
const network = globalThis.fetch;
const files = writeFilesOfPage("docs/recipes/turnstile.md");

let lines: unknown[];
beforeEach(() => {
  lines = [];
  for (const method of ["log", "error"] as const)
    vi.spyOn(console, method).mockImplementation((...line) => void lines.push(...line));
});
afterEach(() => {
  for (const secret of [TOKEN, env.TURNSTILE_SECRET_KEY, env.SESSION_SECRET])
    expect(lines.join("\n")).not.toContain(secret);
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

interface Session {
  readonly token: string;
  readonly expiresAt: number;
}

/** Starts siteverify, and the recipe's Worker in front of the emulator. */
async function open({ status = 200, body = verdict as unknown, isDown = false } = {}) {
  const forms: Record<string, string>[] = [];
  const siteverify: RequestListener = async (request, response) => {
    forms.push({ url: `${request.url}`, ...Object.fromEntries(new URLSearchParams(await text(request))) });
    response.writeHead(status, { location: "/elsewhere" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
  const server = createServer(siteverify).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = () => void server.close().closeAllConnections();
  onTestFinished(close);
  if (isDown) close();

  const { default: worker } = await files<{ default: Worker }>("worker/worker.ts");
  const emulator = openNetwork({
    "challenges.cloudflare.com": (request) =>
      network(new Request(`http://127.0.0.1:${port}${new URL(request.url).pathname}`, request)),
    [PROXY]: async (request) => {
      // headers that a browser adds
      const sent = await request.text();
      const headers = {
        ...Object.fromEntries(request.headers),
        origin: APP,
        "content-length": `${sent.length}`,
      };
      const { method, url, signal } = request;
      return worker.fetch(new Request(url, { method, headers, signal, ...(sent && { body: sent }) }), env);
    },
  });
  const exchange = (headers: object = {}, token = TOKEN, method = "POST") =>
    worker.fetch(
      new Request(`https://${PROXY}/session`, {
        method,
        headers: { origin: APP, "content-length": `${token.length}`, ...headers },
        ...(method === "POST" && { body: token }),
      }),
      env,
    );
  const requestStatus = async (session: string) =>
    (await worker.fetch(createChatRequest("Hello", { authorization: `Bearer ${session}` }), env)).status;
  return { emulator, forms, exchange, requestStatus };
}

describe("a guest", () => {
  test("passes one check and asks many times, by the page's client", async () => {
    const { forms, emulator } = await open();
    const { createGuestClient } = await files<{ createGuestClient(get: () => Promise<string>): Client }>(
      "src/client.ts",
    );
    const getToken = vi.fn(async () => TOKEN);
    const client = createGuestClient(getToken);
    const results = await Promise.all([completeChat(client, question), completeChat(client, question)]);
    results.push(await completeChat(client, question));
    expect(results.every(({ message }) => message.content !== "")).toBe(true);
    expect(getToken).toHaveBeenCalledTimes(1);
    expect(forms).toEqual([
      { url: "/turnstile/v0/siteverify", secret: env.TURNSTILE_SECRET_KEY, response: TOKEN },
    ]);
    expect(emulator.requests).toHaveLength(3);
  });

  test("is a new user with each session", async () => {
    const { exchange } = await open();
    const [first, second] = [await exchange(), await exchange()];
    const subjects = [await first.json(), await second.json()].map(
      (it) => decodeJwt((it as Session).token).sub,
    );
    expect(subjects).toEqual([expect.stringMatching(/^guest-/), expect.stringMatching(/^guest-/)]);
    expect(subjects[0]).not.toBe(subjects[1]);
    expect(first.headers.get("cache-control")).toBe("no-store");
    expect(first.headers.get("access-control-allow-origin")).toBe(APP);
  });

  test("runs the widget again after a check that failed", async () => {
    await open({ body: { success: false, "error-codes": ["timeout-or-duplicate"] } });
    const { createGuestClient } = await files<{ createGuestClient(get: () => Promise<string>): Client }>(
      "src/client.ts",
    );
    const getToken = vi.fn(async () => TOKEN);
    const client = createGuestClient(getToken);
    await expect(completeChat(client, question)).rejects.toThrow();
    const { emulator } = await open();
    await completeChat(client, question);
    expect(getToken).toHaveBeenCalledTimes(2);
    expect(emulator.requests).toHaveLength(1);
  });
});

describe("no session is opened", () => {
  test.each([
    ["a token that was used before", 403, { success: false, "error-codes": ["timeout-or-duplicate"] }],
    ["a success that is a text", 403, { ...verdict, success: "true" }],
    ["a token of another page", 403, { ...verdict, hostname: "evil.example" }],
    ["a token of a page below", 403, { ...verdict, hostname: "x.app.example.com" }],
    ["a token without a page", 403, { ...verdict, hostname: undefined }],
    ["a token of another action", 403, { ...verdict, action: "sign-up" }],
    ["a token without an action", 403, { ...verdict, action: undefined }],
    ["HTML with status 200", 503, "<!doctype html><p>success</p>"],
    ["an empty body", 503, ""],
    ["the JSON null", 503, null],
  ])("for %s: %d", async (_, expected, body) => {
    const { exchange, emulator } = await open({ body });
    const response = await exchange();
    expect([response.status, await response.text()]).toEqual([expected, ""]);
    expect(emulator.requests).toEqual([]);
  });

  test.each([301, 404, 429, 500])("a %d of siteverify becomes a 503", async (status) => {
    const { exchange, forms } = await open({ status });
    const response = await exchange();
    expect([response.status, await response.text()]).toEqual([503, ""]);
    expect(forms).toHaveLength(1);
  });

  test("an unreachable siteverify becomes a 503", async () => {
    const { exchange } = await open({ isDown: true });
    expect((await exchange()).status).toBe(503);
  });

  test.each([
    ["of another page", { origin: "https://evil.example" }, TOKEN, "POST"],
    ["with a method other than POST", {}, "", "GET"],
    ["with a long body", {}, "t".repeat(2049), "POST"],
  ])("for a request %s, without a request to siteverify", async (_, headers, token, method) => {
    const { exchange, forms } = await open();
    expect((await exchange(headers, token, method)).status).toBe(400);
    expect(forms).toEqual([]);
  });
});

describe("the proxy refuses", () => {
  const openOwn = async () => {
    const opened = await open();
    const session = (await (await opened.exchange()).json()) as Session;
    return { ...opened, session };
  };

  test("a session that has expired", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { requestStatus, session } = await openOwn();
    expect(await requestStatus(session.token)).toBe(200);
    vi.setSystemTime(session.expiresAt + 6000);
    expect(await requestStatus(session.token)).toBe(401);
  });

  test("a session that is forged", async () => {
    const { requestStatus, session, emulator } = await openOwn();
    const claims = { iss: APP, aud: "guests", sub: "guest-1" };
    const [header, , signature] = session.token.split(".");
    const forged = Buffer.from(JSON.stringify({ ...decodeJwt(session.token), sub: "guest-2" })).toString(
      "base64url",
    );
    expect(await requestStatus(await secretToken("another secret of at least 32 bytes", claims))).toBe(401);
    expect(await requestStatus(`${header}.${forged}.${signature}`)).toBe(401);
    expect(await requestStatus(await secretToken(env.SESSION_SECRET, { ...claims, aud: "others" }))).toBe(
      401,
    );
    expect(emulator.requests).toEqual([]);
  });

  test("the Turnstile token itself", async () => {
    const { requestStatus } = await openOwn();
    expect(await requestStatus(TOKEN)).toBe(401);
  });
});
