import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createProxy,
  type ProxyContext,
  type ProxyEvent,
  type ProxyOptions,
  type RequestEvent,
} from "@sluice/worker-proxy";
import { definePlugin, type Payable } from "@sluice/worker-proxy/plugin";
import { onTestFinished, vi } from "vitest";
import { KEY, read } from "../../../worker-proxy/test/support/key.js";
import { type BudgetOptions, budget } from "../../src/budgets/budget.js";
import { nodeHost } from "../../src/host/node.js";
import { createProbe } from "./probe.js";

export const HOUR = 60 * 60 * 1000;
/** Ten minutes into a window. */
export const START = Date.UTC(2040, 0, 1, 0, 10);

/** Sets the clock of the process; timers stay real. */
export function setClock(now = START): void {
  vi.useFakeTimers({ toFake: ["Date"], now });
  onTestFinished(() => void vi.useRealTimers());
}

/** The response of the gateway to a chat, by default a usage of 30 tokens. */
export type Gateway = (request: Request) => Response | Promise<Response>;
export const usage = (total_tokens: unknown) => Response.json({ choices: [], usage: { total_tokens } });

interface BudgetSetup {
  readonly options?: Partial<BudgetOptions>;
  readonly proxy?: Partial<ProxyOptions<unknown>>;
  readonly gateway?: Gateway;
  readonly file?: string;
}

/**
 * A proxy with a budget of 100 an hour for each user, whose requests cost at most their `max_tokens`. The header
 * `authorization` is the id of the user.
 */
export function openBudget({
  options,
  proxy: proxyOptions,
  gateway = () => usage(30),
  file = ":memory:",
}: BudgetSetup = {}) {
  const sent: Request[] = [];
  const events: RequestEvent[] = [];
  const background: Promise<unknown>[] = [];
  const context: ProxyContext = { waitUntil: (promise) => void background.push(promise) };
  const plugin = budget({
    limits: { user: 100 },
    windowMs: HOUR,
    reserve: ({ body }: Payable) => Number(body?.["max_tokens"] ?? 10),
    ...options,
  });
  const host = nodeHost({ file });
  const { plugin: probe, query } = createProbe();
  const noteEvents = definePlugin({
    onEvent: (event: ProxyEvent) => void (event.type === "request" && events.push(event)),
  });
  const proxy = createProxy({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: ({ headers }) => {
      const id = headers.get("authorization");
      const session = headers.get("x-session");
      return id ? { id, ...(session && { session }) } : null;
    },
    origins: ["https://app.example"],
    models: ["delta-5.3", "alpha-v4.1-flash"],
    allowFields: ["n"],
    fetch: async (request) => {
      sent.push(request);
      return gateway(request);
    },
    host,
    ...proxyOptions,
    plugins: [plugin, probe, noteEvents, ...(proxyOptions?.plugins ?? [])],
  });
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= host.close();
    return closing;
  };
  onTestFinished(close);
  const send = async (user: string, path: string, init: RequestInit = {}) => {
    const headers = { authorization: user, "content-type": "application/json", ...init.headers };
    const request = new Request(`https://proxy.example${path}`, { ...init, headers });
    return proxy.fetch(request, {}, context);
  };
  const request = async (...args: Parameters<typeof send>) => read(await send(...args));
  const post = (user: string, path: string, body: object, headers: Record<string, string> = {}) =>
    request(user, path, { method: "POST", body: JSON.stringify(body), headers });
  const payable = (max_tokens: number, id = "ann", given: object = {}): Payable => ({
    env: {},
    context: undefined,
    route: "chat",
    model: "delta-5.3",
    user: { id },
    body: { model: "delta-5.3", messages: [], max_tokens },
    ...given,
  });
  const reserve = (...args: Parameters<typeof payable>) => plugin.reserve(payable(...args));
  return {
    plugin,
    proxy,
    sent,
    events,
    send,
    request,
    post,
    close,
    payable,
    reserve,
    query,
    /** Counts the rows of windows, reservations, raises and timers. */
    async count(where = "1 = 1") {
      const tables = ["budget_windows", "budget_reservations", "budget_raises", "timers"];
      const counts = tables.map((table) => query(`SELECT COUNT(*) AS n FROM ${table} WHERE ${where}`));
      return (await Promise.all(counts)).map(([row]) => Number(row?.["n"]));
    },
    /** Reserves an amount, and expects that it fits. */
    async paid(...args: Parameters<typeof payable>) {
      const reservation = await reserve(...args);
      if (!("settle" in reservation)) throw new Error("the budget is spent");
      return reservation;
    },
    state: (limit = "user", id = "ann", more: object = {}) =>
      plugin.read(limit, { env: {}, user: { id, ...more } }),
    chat: (user = "ann", body: object = {}, headers: Record<string, string> = {}) =>
      post(
        user,
        "/v1/chat/completions",
        { model: "delta-5.3", messages: [{ role: "user", content: "hi" }], max_tokens: 10, ...body },
        headers,
      ),
    async budgets(user = "ann") {
      await Promise.all(background);
      return JSON.parse((await request(user, "/v1/budget")).text).budgets as Record<string, unknown>[];
    },
  };
}

/** Returns the path of a database that ends with the test. */
export function openFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-budget-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "sluice.db");
}
