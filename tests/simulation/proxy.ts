import { createHash } from "node:crypto";
import { budget, idempotency, resumableStreams, videoWatch } from "@sluice/durable";
import {
  cloudflareHost,
  type DurableObjectClass,
  type DurableObjectNamespace,
  durableObject,
} from "@sluice/durable/cloudflare";
import {
  assets,
  chat,
  createProxy,
  type GatewayProxy,
  images,
  videos,
  workersRateLimit,
} from "@sluice/worker-proxy";
import { createLedger } from "./ledger.js";
import { createNetwork, type Exchange } from "./network.js";
import { createObjects } from "./objects.js";
import { getCurrentPage, openPage, type Page } from "./page.js";
import type { Plan } from "./plan.js";
import { createRandom } from "./random.js";
import { handleInProcess } from "./server.js";
import { createStoredLog } from "./stored-log.js";
import type { Timeline } from "./timeline.js";

/** The gateway's key. No tab may receive it. */
export const KEY = "sk-simulated-key-0123456789";
const SECRET = "a secret of the proxy's own, of more than 32 letters";

/** `metered`: the proxy has a budget. `stored`: it also stores responses and pushes changes of videos. */
export type ProxyMode = "absent" | "metered" | "stored";

/** The environment of one request, or of one object. All that is done with it belongs together. */
interface Env {
  /** Name of the request or the object. */
  readonly purpose: string;
}

/** Parts of a plan that make a proxy. */
interface ProxyPlan extends Pick<Plan, "seed" | "proxy" | "once" | "budget" | "log"> {}

/** Length of the windows of the budgets, in milliseconds. */
export const WINDOW_MS = 3_600_000;
/** Requests of one user in a minute. */
const RATE = 30;

/**
 * Creates the proxy between the tabs and the gateway: its process, its Durable Objects, and the network behind it. What
 * it does for one request of a tab has the number of that request as its purpose.
 *
 * @param plan its `budget` is the user's budget in one window, in tokens
 */
export function createProxyServer(
  { seed, proxy: mode, once: isOnce, budget: maxTokens, log: logFault }: ProxyPlan,
  timeline: Timeline,
  gateway: (request: Request, exchange: Exchange) => Promise<Response>,
  log: (detail: string) => void,
) {
  const upstream = createNetwork(timeline, createRandom(seed, "upstream"), gateway, log);
  const requests: Exchange[] = [];
  /** Requests in the present minute. */
  let counted = { minute: 0, requests: 0 };
  let started = 0;
  const storedLog = createStoredLog(createRandom(seed, "log faults"), logFault);

  const ledger = createLedger(timeline);
  const route = {
    baseURL: "https://gateway.test",
    apiKey: () => KEY,
    fetch: (request: Request, { purpose }: Env) =>
      upstream.createFetch(getCurrentPage() as Page, purpose)(request),
  };
  const objects = createObjects(
    timeline,
    createRandom(seed, "objects"),
    (state, page) => {
      const [, Kind] = runProgram();
      return new Kind(state, { purpose: page.name });
    },
    upstream.drop,
    log,
  );
  let current = start();
  return {
    upstream,
    objects,
    /** Calls that reserve and settle, of the only user. */
    ledger: ledger.calls,
    /** Requests that the proxy received. Their paths are the purposes. */
    requests,
    /** The process of the proxy. */
    get process(): Page {
      return current.process;
    },
    fetch,
    /** Refuses the next requests for the rest of a response, as an expired session does. */
    endSession: storedLog.refuse,
    /** Ends the process with all that it has in memory, and starts another one. */
    restart(): void {
      current.process.state = "gone";
      upstream.drop(current.process);
      objects.network.drop(current.process);
      current = start();
    },
  };

  async function fetch(request: Request, exchange: Exchange): Promise<Response> {
    const purpose = `request ${requests.push(exchange) - 1}`;
    const { process, proxy } = current;
    const context = { waitUntil: () => {} };
    return handleInProcess(process, request, (own) =>
      storedLog.serve(own, (outgoing) => proxy.fetch(outgoing, { purpose }, context)),
    );
  }

  function start(): { readonly process: Page; readonly proxy: GatewayProxy<Env> } {
    const process = openPage(timeline, 0, `proxy ${++started}`);
    const [proxy] = process.run(runProgram);
    return { process, proxy };
  }

  function bindObjects(purpose: string): DurableObjectNamespace {
    return objects.createBinding(purpose);
  }

  /** Returns the proxy and the class that the deployed program exports. */
  function runProgram(): readonly [GatewayProxy<Env>, DurableObjectClass<Env>] {
    const proxy = createOwnProxy();
    return [proxy, durableObject<Env>(proxy)];
  }

  function createOwnProxy(): GatewayProxy<Env> {
    return createProxy<Env>({
      ...route,
      authenticate: () => ({ id: "user" }),
      secret: () => SECRET,
      origins: [],
      models: {
        "alpha-v4.1-flash": {},
        "beta3.0-video": {},
        "gamma-image-5-0-260128": {},
        "gamma-asset": { GroupId: ["group"] },
      },
      routes: [chat, images, videos, assets],
      gateway: { assetLookup: "/gamma/asset/GetAsset" },
      rateLimit: workersRateLimit<Env>(() => ({ limit })),
      host: ledger.watch(cloudflareHost(({ purpose }) => bindObjects(purpose))),
      plugins: ledger.watchPlugins<Env>([
        budget<Env>({
          limits: { user: maxTokens, all: 10_000_000 },
          windowMs: WINDOW_MS,
          // reservations of a lost process remain: the rules compare the settled amounts
          reservationTtlMs: 2 * WINDOW_MS,
          reserve: ({ route, body }) => computeMax(route, JSON.stringify(body)),
        }),
        ...(mode === "stored"
          ? [...(isOnce ? [idempotency<Env>()] : []), resumableStreams<Env>(), videoWatch<Env>()]
          : []),
      ]),
    });
  }

  async function limit(): Promise<{ success: boolean }> {
    const minute = Math.floor(timeline.now() / 60_000);
    if (minute !== counted.minute) counted = { minute, requests: 0 };
    counted.requests += 1;
    return { success: counted.requests <= RATE };
  }
}

/**
 * Maximum cost of a request in tokens: fewer than its letters, plus the longest reply. Each request has another maximum,
 * so that a reservation identifies its request.
 */
export function computeMax(routeOrPath: string, body: string): number {
  const mark = createHash("sha256").update(body).digest().readUInt16BE() % 500;
  return mark + (routeOrPath.includes("images") ? 40_000 : body.length + 1000);
}
