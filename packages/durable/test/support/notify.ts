import { Webhook } from "standardwebhooks";
import { type Recorded, startUpstream } from "../../../worker-proxy/test/support/upstream.js";
import { host, startDurableProxy } from "./workerd.js";

export const WEBHOOK_SECRET = `whsec_${Buffer.from("a secret of the app, 32 and more").toString("base64")}`;

export const headersOf = ({ rawHeaders }: Recorded) =>
  Object.fromEntries(
    rawHeaders.flatMap((name, at) => (at % 2 ? [] : [[name.toLowerCase(), rawHeaders[at + 1]]])),
  ) as Record<string, string>;

/** Reads a webhook as the app does; throws for one that is not signed. */
export const readWebhook = (request: Recorded): unknown =>
  new Webhook(WEBHOOK_SECRET).verify(request.body, headersOf(request));

/**
 * The proxy in a real workerd, with a gateway and an app on sockets.
 *
 * @param speed Number of milliseconds that pass in one for objects in workerd. A watch polls after 5 s, and then every 15 s.
 */
export async function startNotifyingProxy({ speed = 1 } = {}) {
  const clockSpeed = host === "workerd" ? speed : 1;
  const app = await startUpstream();
  app.answers((response) => void response.writeHead(204).end());
  const proxy = await startDurableProxy({
    fixture: "durable/test/fixture/notify-worker.ts",
    texts: {
      WEBHOOK_URL: `${app.url}/hook`,
      WEBHOOK_SECRET,
      CLOCK_SPEED: String(clockSpeed),
      CLOCK_START: String(Date.now()),
    },
    objects: { VIDEO_WATCH: "VideoWatch" },
  });
  const as = (user: string, init: RequestInit = {}) => ({ ...init, headers: { authorization: user } });
  const json = { "content-type": "application/json" };
  let settle: (status: string) => void = () => {};
  let status = new Promise<string>((resolve) => {
    settle = resolve;
  });
  let tasks = 0;
  /** Times at which the gateway was asked about each task. */
  const polls = new Map<string, number[]>();
  proxy.upstream.answers(async (response, { method, url }) => {
    const id = method === "POST" ? `t-${++tasks}` : (url.split("/").at(-1) ?? "");
    if (method === "GET") polls.set(id, [...(polls.get(id) ?? []), Date.now()]);
    const receipt = { id, task_id: id, status: "queued" };
    const task = async () => ({ task_id: id, status: await status, result_url: "https://cdn.example/v.mp4" });
    const body = method === "POST" ? receipt : { code: "success", data: await task() };
    response.writeHead(200, json).end(JSON.stringify(body));
  });

  return {
    ...proxy,
    app,
    polls,
    clockSpeed,
    /** The gateway answers polls with this status from now on. Before, it answers none. */
    taskIs: (next: string) => {
      settle(next);
      status = Promise.resolve(next);
    },
    ask: (path: string, { user = "ann", ...init }: RequestInit & { user?: string } = {}) =>
      proxy.ask(path, as(user, init)),
    /** The path of a new task. */
    async create(user = "ann") {
      const body = JSON.stringify({ model: "beta3.0-video", input: { prompt: "a bird" } });
      const receipt = await proxy.ask("/v1/video/generations", {
        method: "POST",
        body,
        headers: { authorization: user },
      });
      const { id } = (await receipt.json()) as { id: string };
      return { id, path: `/v1/video/generations/${id}` };
    },
    async close() {
      await proxy.close();
      app.close();
    },
  };
}
