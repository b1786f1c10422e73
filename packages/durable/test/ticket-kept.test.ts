import {
  Budget,
  budget,
  type ObjectNamespace,
  once,
  onceObject,
  streamLog,
  streamLogObject,
} from "@sluice/durable";
import { createProxy } from "@sluice/worker-proxy";
import { expect, onTestFinished, test, vi } from "vitest";
import { openSQLiteKeeper } from "../src/hosts/node/sqlite-keeper.js";
import type { Changes } from "../src/hosts/process/keeper.js";
import { openLiveObjects } from "../src/hosts/process/live-objects.js";
import { keeperWith } from "./support/keepers.js";

interface Env {
  readonly BUDGET: ObjectNamespace;
  readonly LOG: ObjectNamespace;
  readonly ONCE: ObjectNamespace;
}

/** A proxy whose objects keep what `isKept` allows. */
function openProxy(isKept: (changes: Changes) => boolean) {
  /** Bindings of the objects that have written. */
  const written: string[] = [];
  const choosing = keeperWith(openSQLiteKeeper(":memory:"), async (write, changes, { binding }) => {
    written.push(binding);
    // it takes as long as a database does
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (!isKept(changes)) throw new Error("the database is gone");
    await write(changes);
  });
  const meter = budget<Env>({
    namespace: (env) => env.BUDGET,
    limits: { user: 1_000_000 },
    windowMs: 86_400_000,
    reserveFor: () => 100,
  });
  const upstream = vi.fn(async () => Response.json({}));
  const gateway = {
    baseURL: "https://gateway.example",
    apiKey: () => "sk-7Qx2LmZp9Rt4Vw8YbN3cKd6Fg",
    fetch: upstream,
  };
  const classes = {
    BUDGET: Budget,
    LOG: streamLogObject<Env>({ ...gateway, meter, namespace: (env) => env.LOG }),
    ONCE: onceObject<Env>({ ...gateway, meter, namespace: (env) => env.ONCE }),
  };
  const env: Record<string, unknown> = {};
  const objects = openLiveObjects(choosing, classes as never, env as never);
  onTestFinished(() => objects.close(0));
  for (const binding of Object.keys(classes)) env[binding] = objects.namespace(binding);
  const proxy = createProxy<Env>({
    ...gateway,
    authenticate: () => ({ id: "user-1" }),
    origins: [],
    routes: ["chat", "images"],
    models: ["delta-5.3", "gamma-image-5-0-260128"],
    plugins: [meter, streamLog((env) => env.LOG), once((env) => env.ONCE)],
  });
  return {
    written,
    upstream,
    post: (path: string, body: object) =>
      proxy.fetch(
        new Request(`https://proxy.example${path}`, {
          method: "POST",
          body: JSON.stringify(body),
          headers: { "content-type": "application/json", "idempotency-key": "key-1" },
        }),
        env as never,
      ),
  };
}

const messages = [{ role: "user", content: "hi" }];
test.each([
  ["A kept answer", "/v1/chat/completions", { model: "delta-5.3", stream: true, messages }],
  [
    "A create that is billed once",
    "/v1/images/generations",
    { model: "gamma-image-5-0-260128", prompt: "a cat" },
  ],
])(
  "case 189: %s whose ticket can't be kept has nothing reserved and sends nothing",
  async (_, path, body) => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => error.mockRestore());
    // the attempts to settle go on for minutes
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true });
    onTestFinished(() => void vi.useRealTimers());
    const tickets: string[] = [];
    const { post, written, upstream } = openProxy(({ rows }) => {
      const text = JSON.stringify(rows);
      if (text.includes("ticket")) tickets.push(text);
      return !text.includes("ticket");
    });
    const response = await post(path, body);
    expect(response.status).toBeGreaterThanOrEqual(500);
    expect(tickets).toHaveLength(1);
    expect(written).not.toContain("BUDGET");
    expect(upstream).not.toHaveBeenCalled();
  },
);
