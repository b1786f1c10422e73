import { admin, type Budget, budget, eraseUser, exportUser } from "@sluice/durable";
import { createProxy, type GatewayProxy, type Host } from "@sluice/worker-proxy";
import type { Payable } from "@sluice/worker-proxy/plugin";
import { expect } from "vitest";
import { KEY } from "../../../worker-proxy/test/support/key.js";
import { gateway } from "./durable-gateway.js";

/*
 * The scenarios of budgets that hold on each host. `budget-hosts.test.ts` runs them on SQLite and on Postgres with two
 * processes, `budget-hosts.workerd.test.ts` on Durable Objects. None of them sets a clock: a host has its own.
 */

/** A proxy with a budget, as one process has it. */
export interface BudgetServer<Env> {
  readonly proxy: GatewayProxy<Env>;
  readonly plugin: Budget<Env>;
  readonly env: Env;
}

/** Two processes with one database; the same one twice where there is one process. */
export interface BudgetServers<Env> {
  readonly firstServer: BudgetServer<Env>;
  readonly secondServer: BudgetServer<Env>;
}

/** A window that ends in 2033: no test runs over its end. */
const WINDOW_MS = 1_000_000_000_000;

/**
 * Makes a proxy with a budget. A user's limit is the number that begins the id, "100 ada"; a shared limit of 1,000 applies
 * to users with a team, "100 ada of red". Requests reserve their `max_tokens`.
 */
export function createBudgetServer<Env>(host: Host<Env>, env: Env): BudgetServer<Env> {
  const plugin = budget<Env>({
    limits: {
      user: ({ user }) => Number(/^\d+/.exec(user.id)?.[0] ?? 1000),
      team: { limit: 1000, shards: 4, by: ({ user }) => / of (.*)$/.exec(user.id)?.[1] },
    },
    windowMs: WINDOW_MS,
    reserve: ({ body }) => Number(body?.["max_tokens"] ?? 10),
  });
  const proxy = createProxy<Env>({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
    origins: [],
    models: ["delta-5.3"],
    fetch: (request) => gateway.respond(request),
    host,
    plugins: [plugin, admin<Env>({ isOperator: ({ id }) => id === "operator" })],
  });
  return { proxy, plugin, env };
}

const respondWith = (total_tokens: unknown) => () =>
  Response.json({ choices: [], ...(total_tokens !== undefined && { usage: { total_tokens } }) });

/** Sends a request, and waits for the work that continues after its response. */
async function send<Env>({ proxy, env }: BudgetServer<Env>, user: string, path: string, body?: object) {
  const behind: Promise<unknown>[] = [];
  const request = new Request(`https://proxy.example${path}`, {
    method: body ? "POST" : "GET",
    headers: { authorization: user, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const response = await proxy.fetch(request, env, { waitUntil: (work) => void behind.push(work) });
  const json = (await response.json()) as Record<string, unknown>;
  await Promise.all(behind);
  return { status: response.status, json };
}

const chat = <Env>(server: BudgetServer<Env>, user: string, max_tokens = 10) =>
  send(server, user, "/v1/chat/completions", {
    model: "delta-5.3",
    messages: [{ role: "user", content: "hi" }],
    max_tokens,
  });

async function readOwn<Env>(server: BudgetServer<Env>, user: string) {
  const { json } = await send(server, user, "/v1/budget");
  return (json["budgets"] as Record<string, unknown>[])[0];
}

const payable = <Env>({ env }: BudgetServer<Env>, user: string, max_tokens: number): Payable<Env> => ({
  env,
  context: undefined,
  route: "chat",
  user: { id: user },
  body: { max_tokens },
});

type Scenario = <Env>(servers: BudgetServers<Env>, name: string) => Promise<void>;

/** The scenarios by title. Each gets a name that no other one has, for its users. */
export const BUDGET_SCENARIOS: Readonly<Record<string, Scenario>> = {
  async "lets one of twenty requests at once pass if there is money for one"(
    { firstServer, secondServer },
    name,
  ) {
    gateway.respondWith(respondWith(10));
    const user = `10 ${name}`;
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, nth) => chat(nth % 2 ? firstServer : secondServer, user)),
    );
    expect(all.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(all.filter(({ status }) => status === 429)).toHaveLength(19);
    expect(gateway.requests).toHaveLength(1);
    expect(await readOwn(secondServer, user)).toMatchObject({ spent: 10, reserved: 0, remaining: 0 });
  },

  async "adds each of forty requests at once, once"({ firstServer, secondServer }, name) {
    gateway.respondWith(respondWith(3));
    const user = `1000 ${name}`;
    const all = await Promise.all(
      Array.from({ length: 40 }, (_, nth) => chat(nth % 2 ? firstServer : secondServer, user)),
    );
    expect(all.every(({ status }) => status === 200)).toBe(true);
    expect(await readOwn(firstServer, user)).toMatchObject({ spent: 120, reserved: 0 });
  },

  async "spends the usage of a response, all that was reserved without one, and nothing after a refusal"(
    { firstServer, secondServer },
    name,
  ) {
    const user = `1000 ${name}`;
    const ends: [number, () => Response][] = [
      [7, respondWith(7)],
      [67, respondWith(undefined)],
      [67, () => Response.json({ error: { message: "no" } }, { status: 400 })],
    ];
    for (const [spent, next] of ends) {
      gateway.respondWith(next);
      await chat(firstServer, user, 60);
      expect(await readOwn(secondServer, user)).toMatchObject({ spent, reserved: 0 });
    }
  },

  async "shows what one process has reserved to the other one, before the response is there"(
    { firstServer, secondServer },
    name,
  ) {
    const user = `100 ${name}`;
    let respond = () => {};
    const isSent = new Promise<void>((resolve) => {
      gateway.respondWith(async () => {
        resolve();
        await new Promise<void>((end) => {
          respond = end;
        });
        return respondWith(20)();
      });
    });
    const first = chat(firstServer, user, 60);
    await isSent;
    expect(await readOwn(secondServer, user)).toMatchObject({ spent: 0, reserved: 60, remaining: 40 });
    expect(await chat(secondServer, user, 60)).toMatchObject({ status: 429 });
    respond();
    expect(await first).toMatchObject({ status: 200 });
    expect(await readOwn(secondServer, user)).toMatchObject({ spent: 20, reserved: 0, remaining: 80 });
  },

  async "never lets more than a shared limit pass"({ firstServer, secondServer }, name) {
    gateway.respondWith(respondWith(10));
    const all = await Promise.all(
      Array.from({ length: 150 }, (_, nth) =>
        chat(nth % 2 ? firstServer : secondServer, `1000 ${nth % 5} of ${name}`),
      ),
    );
    const passed = all.filter(({ status }) => status === 200).length;
    expect(passed).toBeLessThanOrEqual(100);
    expect(passed).toBeGreaterThanOrEqual(75);
    const refused = all.find(({ status }) => status === 429);
    expect(refused?.json).toMatchObject({ error: { code: "shared_budget_exhausted" } });
    const reader = { env: secondServer.env, user: { id: `1 of ${name}` } };
    expect(await secondServer.plugin.read("team", reader)).toMatchObject({ spent: 10 * passed, reserved: 0 });
  },

  async "is raised and reset by an operator"({ firstServer, secondServer }, name) {
    gateway.respondWith(respondWith(10));
    const user = `10 ${name}`;
    const operate = (server: typeof firstServer, operation: string, more: object = {}) =>
      send(server, "operator", `/v1/admin/budgets/${operation}`, { by: "user", user, ...more });
    await chat(firstServer, user);
    expect((await operate(secondServer, "raise", { amount: 5 })).json).toMatchObject({
      limit: 15,
      remaining: 5,
    });
    expect(await chat(firstServer, user, 5)).toMatchObject({ status: 200 });
    expect((await operate(firstServer, "reset")).json).toMatchObject({ limit: 10, spent: 0 });
    expect(await chat(secondServer, user)).toMatchObject({ status: 200 });
    expect((await send(firstServer, user, "/v1/admin/budgets/reset", { by: "user", user })).status).toBe(404);
  },

  async "is exported and erased with its user, and nobody else's (case 133)"(
    { firstServer, secondServer },
    name,
  ) {
    gateway.respondWith(respondWith(7));
    const [user, stays] = [`100 ${name}`, `100 ${name} stays`];
    await chat(firstServer, user);
    await chat(secondServer, stays);
    expect(await exportUser(secondServer.proxy, secondServer.env, user)).toMatchObject({
      data: { budgets: [{ by: "user", spent: 7 }] },
      failed: [],
    });
    expect(await eraseUser(secondServer.proxy, secondServer.env, user)).toEqual({
      erased: ["budgets"],
      failed: [],
    });
    expect(await readOwn(firstServer, user)).toMatchObject({ spent: 0 });
    expect(await readOwn(firstServer, stays)).toMatchObject({ spent: 7 });
  },

  async "is settled by the ticket of another process, once"({ firstServer, secondServer }, name) {
    const user = `100 ${name}`;
    const given = await firstServer.plugin.reserve(payable(firstServer, user, 60));
    if (!("settle" in given)) throw new Error("nothing is left");
    expect(await readOwn(secondServer, user)).toMatchObject({ reserved: 60 });
    await secondServer.plugin.settleTicket?.(given.ticket ?? "", 5, secondServer.env);
    await secondServer.plugin.settleTicket?.(given.ticket ?? "", 60, secondServer.env);
    await given.settle({ total_tokens: 60 });
    expect(await readOwn(firstServer, user)).toMatchObject({ spent: 5, reserved: 0 });
  },
};
