import { createEmulator } from "@sluice/emulator";
import { type Served, serve } from "@sluice/emulator/serve";
import { afterAll, beforeAll, expect } from "vitest";
import { KEY } from "../../packages/worker-proxy/test/support/key.ts";
import {
  type Bundle,
  bundleTemplate,
  createToken,
  type Deployment,
  type Running,
  startTemplates,
} from "./worker-template.ts";

export const secrets = {
  GATEWAY_API_KEY: KEY,
  PROXY_SECRET: "what marks the ids of tasks, 32 characters and more",
  JWT_SECRET: "what the app's server and the Worker share, 32 and more",
};
export const chat = { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] } as const;
export const chats = "/v1/chat/completions";
export const video = { model: "gamma-video-2.0", content: [{ type: "text", text: "A bird" }], duration: 5 };
export const videos = "/v1/video/generations";

export const signIn = (user: string) => createToken(user, secrets.JWT_SECRET);

/** The id of a new video. */
export async function createVideo(worker: Running, token: string): Promise<string> {
  const { status, text } = await worker.request(token, videos, video);
  expect(status).toBe(200);
  return (JSON.parse(text) as { id: string }).id;
}

/**
 * Starts the template's Worker with one of its configurations and its own gateway, for the suite that calls this.
 *
 * @param others gives the Workers of other settings, each under its name; they run in the same workerd
 */
export function runTemplate(
  name: string,
  others: (settings: Record<string, string>) => Readonly<Record<string, Deployment>> = () => ({}),
) {
  const emulator = createEmulator({ apiKeys: [KEY], speed: Number.POSITIVE_INFINITY });
  let gateway: Served;
  let bundle: Bundle;
  let workers: ReadonlyMap<string, Running>;
  beforeAll(async () => {
    gateway = await serve(emulator, { port: 0 });
    bundle = await bundleTemplate(name);
    const settings = { GATEWAY_URL: gateway.url, ...secrets };
    const deployments = { usual: { given: settings }, ...others(settings) };
    const running = await startTemplates(bundle, Object.values(deployments));
    workers = new Map(Object.keys(deployments).map((key, index) => [key, running[index] as Running]));
  }, 60_000);
  afterAll(async () => {
    await get("usual").close();
    await gateway.close();
  });

  return {
    emulator,
    get bundle(): Bundle {
      return bundle;
    },
    get worker(): Running {
      return get("usual");
    },
    /** One of `others`. */
    other: get,
  };

  function get(key: string): Running {
    const running = workers.get(key);
    if (!running) throw new Error(`no Worker is called "${key}"`);
    return running;
  }
}
