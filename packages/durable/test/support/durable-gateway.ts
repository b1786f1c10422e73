import type { EndedTask } from "@sluice/durable";
import { type JobEvent, type ProxyPlugin, readStreams } from "@sluice/worker-proxy";
import type { Exhausted, Payable, Reservation, Usage } from "@sluice/worker-proxy/plugin";
import { KEY } from "../../../worker-proxy/test/support/key.js";

type Respond = (request: Request) => Response | Promise<Response>;

/** The gateway of the Durable Objects under test, which run in the tests' own process. */
export const gateway = {
  /** The key that the operator has set; undefined for none. */
  key: KEY as string | undefined,
  requests: [] as Request[],
  next: (() => task("QUEUED")) as Respond,
  /** Clears the requests and sets how the gateway responds from now on. */
  respondWith(next: Respond) {
    gateway.key = KEY;
    gateway.requests.length = 0;
    gateway.next = next;
  },
  respond: async (request: Request): Promise<Response> => {
    gateway.requests.push(request);
    return gateway.next(request);
  },
};

/** Options of a proxy or an object that reach this gateway. */
export const clientOptions = {
  baseURL: "https://gateway.example",
  apiKey: () => KEY,
  fetch: (request: Request) => gateway.respond(request),
};

/** The ends of tasks that the objects under test told of. */
export const ends: EndedTask[] = [];

/** A task in the gateway's envelope. */
export function task(status: string, more: object = {}): Response {
  return Response.json({ code: "success", message: "", data: { task_id: "t-1", status, ...more } });
}

/** A refusal in the gateway's words. */
export function refusal(status: number, headers: Record<string, string> = {}, message = "no"): Response {
  return Response.json({ error: { message, code: "x" } }, { status, headers });
}

type Entry = readonly [word: "reserve" | "settle" | "release", what?: unknown];

type Refused = { readonly retryAfterMs: number } | undefined;

/** The meter of the objects under test: it writes down what it is told, in order. */
export const ledger = {
  entries: [] as Entry[],
  next: (() => undefined) as () => Refused,
  /** A meter to ask instead. */
  over: undefined as ProxyPlugin<never> | undefined,
  /** Clears the entries and sets how the meter responds from now on. */
  respondWith(next: () => Refused = () => undefined): void {
    ledger.entries.length = 0;
    ledger.next = next;
  },
  meter: {
    ...readStreams(),
    async reserve(payable: Payable): Promise<Reservation | NonNullable<Refused>> {
      if (ledger.over?.reserve) return ledger.over.reserve(payable as Payable<never>);
      const { user, route, model, body } = payable;
      ledger.entries.push(["reserve", { user, route, model, body }]);
      return (
        ledger.next() ?? {
          settle: async (usage: unknown) => void ledger.entries.push(["settle", usage]),
          release: async () => void ledger.entries.push(["release"]),
        }
      );
    },
    async settleTicket(ticket: string, spent: number | undefined, env: unknown): Promise<void> {
      await ledger.over?.settleTicket?.(ticket, spent, env as never);
    },
  } satisfies ProxyPlugin,
};

/** The events of jobs in the objects under test. */
export const jobs: JobEvent[] = [];

/** A meter that can settle by tickets: what is reserved now, and each amount that was spent. */
export const purse = {
  reserved: new Map<string, number>(),
  spent: [] as number[],
  /** True while nothing can be settled. */
  fails: false,
  /** A meter to ask instead. */
  over: undefined as ProxyPlugin<never> | undefined,
  meter: {
    ...readStreams(),
    async reserve(payable: Payable): Promise<Reservation | Exhausted> {
      if (purse.over?.reserve) return purse.over.reserve(payable as Payable<never>);
      const ticket = crypto.randomUUID();
      purse.reserved.set(ticket, 100);
      const calculateCost = (usage: Usage | undefined) => Number(usage?.["total_tokens"] ?? 100);
      return {
        amount: 100,
        ticket,
        calculateCost,
        settle: async (usage) => purse.settle(ticket, calculateCost(usage)),
        release: async () => purse.settle(ticket, 0),
      };
    },
    async settleTicket(ticket: string, spent: number | undefined, env: unknown): Promise<void> {
      if (purse.over) return await purse.over.settleTicket?.(ticket, spent, env as never);
      purse.settle(ticket, spent ?? 100);
    },
  } satisfies ProxyPlugin,
  settle(ticket: string, spent: number): void {
    if (purse.fails) throw new Error("no purse");
    if (purse.reserved.delete(ticket) && spent > 0) purse.spent.push(spent);
  },
  /** Forgets everything. */
  empty(): void {
    purse.reserved.clear();
    purse.spent.length = 0;
    purse.fails = false;
    purse.over = undefined;
    jobs.length = 0;
  },
};
