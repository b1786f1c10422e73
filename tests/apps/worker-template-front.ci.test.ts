import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTextReader } from "../../packages/worker-proxy/test/support/event-stream.ts";
import { startMiniflare } from "../../packages/worker-proxy/test/support/miniflare.ts";
import { chunk, done, finish, startUpstream } from "../../packages/worker-proxy/test/support/upstream.ts";
import { chat, chats, secrets, signIn } from "../support/template-suite.ts";
import { bundleTemplate } from "../support/worker-template.ts";

/* The template's two Workers, each in its own workerd, which find each other as on Cloudflare. */

let registry = "";
let gateway: Awaited<ReturnType<typeof startUpstream>>;
const running: { dispose(): Promise<void> }[] = [];

beforeEach(async () => {
  // the Workers log each response as an event
  vi.spyOn(console, "log").mockImplementation(() => {});
  registry = await mkdtemp(join(tmpdir(), "sluice-registry-"));
  gateway = await startUpstream();
});
afterEach(async () => {
  for (const one of running.splice(0)) await one.dispose();
  gateway.close();
  await rm(registry, { recursive: true });
  vi.restoreAllMocks();
});

/** Starts one of the Workers, and returns its address. */
async function start(file: string) {
  const { config, code } = await bundleTemplate(file);
  const name = config["name"] as string;
  const ratelimits = config.ratelimits ?? [];
  const miniflare = startMiniflare({
    unsafeDevRegistryPath: registry,
    workers: [
      {
        name,
        modules: [{ type: "ESModule", path: "worker.js", contents: code }],
        compatibilityDate: config.compatibility_date,
        compatibilityFlags: config.compatibility_flags,
        bindings: { ...config.vars, GATEWAY_URL: gateway.url, ...secrets },
        ratelimits: Object.fromEntries(ratelimits.map((limiter) => [limiter.name, limiter])),
        durableObjects: Object.fromEntries(
          config.durable_objects.bindings.map(({ name, class_name: className, script_name: scriptName }) => [
            name,
            { className, useSQLite: true, ...(scriptName && { scriptName }) },
          ]),
        ),
        unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
      },
    ],
  });
  running.push(miniflare);
  await miniflare.ready;
  const { origin } = await miniflare.unsafeGetDirectURL(name);
  return {
    origin,
    async stop() {
      running.splice(running.indexOf(miniflare), 1);
      await miniflare.dispose();
    },
  };
}

test("a deploy of the Worker in front ends no response, and no byte of it is lost (case 118)", async () => {
  let send!: (text: string) => void;
  gateway.respondWith((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    send = (text) => response.write(text);
    send(chunk("one"));
  });
  await start("wrangler.objects.jsonc");
  const before = await start("wrangler.front.jsonc");
  const authorization = `Bearer ${await signIn("ada")}`;
  const response = await fetch(before.origin + chats, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ ...chat, stream: true }),
  });
  expect(response.status).toBe(200);
  const reader = createTextReader(response);
  expect(await reader.until("one")).toBe(`id: 1\n${chunk("one")}`);
  const path = `/v1/chat/streams/${response.headers.get("x-stream-id")}`;

  await before.stop();
  // the object stores what the gateway sends without a running Worker
  send(chunk("two"));
  const after = await start("wrangler.front.jsonc");
  const again = await fetch(after.origin + path, { headers: { authorization, "last-event-id": "1" } });
  send(chunk("three") + finish + done);
  expect(await createTextReader(again).until("[DONE]")).toBe(
    `id: 2\n${chunk("two")}id: 3\n${chunk("three")}id: 4\n${finish}id: 5\n${done}`,
  );
  expect(gateway.requests).toHaveLength(1);
});
