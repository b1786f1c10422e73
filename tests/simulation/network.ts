import { type Page, runOutside } from "./page.js";
import { pickBetween, type Random } from "./random.js";
import type { Timeline } from "./timeline.js";

/**
 * Faults of one connection. `refused`: no server listens. `lost`: the request and the response are lost. `reset`:
 * breaks after the request. `silent`: no headers arrive. `cut` and `broken`: the response ends early, cleanly or by a
 * reset.
 * `stalled`: no more bytes come. `slow`: everything takes a hundred times as long.
 */
export const networkFaults = [
  "refused",
  "lost",
  "reset",
  "silent",
  "cut",
  "broken",
  "stalled",
  "slow",
] as const;
export type NetworkFault = (typeof networkFaults)[number];

/** One request of a page, and its outcome. */
export interface Exchange {
  readonly page: Page;
  /** Name of the server; empty where there is only one. */
  readonly to: string;
  /** Name of the work that the request is a part of; empty for a request of a tab. */
  readonly purpose: string;
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly body: string | undefined;
  fault: NetworkFault | undefined;
  /** True once the server has got the request. */
  hasArrived: boolean;
  /** True once the server has responded, even if the response was lost. */
  hasResponse: boolean;
  /** Milliseconds at which the connection was closed. */
  endedAt?: number;
  /** True if the sending process or page was lost before the end: its outcome is unknown. */
  isLeft?: boolean;
  /** Status of the response, after its headers reached the page. */
  status?: number;
  /** Code of the error that the page got instead of a response. */
  error?: string;
  /** Bytes of the response that reached the page, as text. */
  received: string;
  /** True once the page has the complete response of the server. */
  isWhole: boolean;
}

/** Creates the network between the pages and a server. */
export function createNetwork(
  timeline: Timeline,
  random: Random,
  serve: (request: Request, exchange: Exchange) => Promise<Response>,
  log: (detail: string) => void,
) {
  const exchanges: Exchange[] = [];
  const open = new Map<Exchange, (error: TypeError) => void>();
  const armed: { readonly fault: NetworkFault; readonly pieces: number }[] = [];
  const network = {
    exchanges,
    /** True while the server can't be reached. */
    isDown: false,
    /** Number of connections that are open. */
    countFor: (page: Page) => [...open.keys()].filter((each) => each.page === page).length,
    /** Sets a fault for the next connection, after some chunks of its response. */
    arm: (fault: NetworkFault, pieces: number) => void armed.push({ fault, pieces }),
    disarm: () => void armed.splice(0),
    /** Breaks all open connections, or some. */
    breakAll(isAffected: (exchange: Exchange) => boolean = () => true): void {
      for (const [exchange, fail] of [...open]) if (isAffected(exchange)) fail(reset());
    },
    /** Breaks the connections of a lost page. */
    drop: (page: Page) => network.breakAll((exchange) => exchange.page === page),
    createFetch:
      (page: Page, purpose = "", to = "") =>
      async (request: Request) =>
        connect({ page, purpose, to }, request, await readBody(request)),
  };
  return network;

  function connect(
    sender: Pick<Exchange, "page" | "purpose" | "to">,
    request: Request,
    body: string | undefined,
  ): Promise<Response> {
    const { page, to } = sender;
    const { method, url, headers } = request;
    const { fault, pieces = 0 } = armed.shift() ?? {};
    const exchange: Exchange = {
      ...sender,
      at: timeline.now(),
      method,
      path: new URL(url).pathname,
      body,
      fault,
      hasArrived: false,
      hasResponse: false,
      received: "",
      isWhole: false,
    };
    const label = `network, ${page.name}${to && ` to ${to.slice(0, 20)}`}, ${method} ${exchange.path}`;
    exchanges.push(exchange);
    log(`${label}: sent ${body ?? ""}`);
    const hangUp = new AbortController();
    /** The request at the server. It is referenced until it ends: a collected request gets no abort. */
    let arrived: Request | undefined;
    const delay = () => pickBetween(random, 1, 20) * (fault === "slow" ? 100 : 1);

    return new Promise((resolve, reject) => {
      let fail = (error: unknown) => page.deliver(() => reject(error));
      const end = () => {
        if (!open.delete(exchange)) return;
        exchange.endedAt = timeline.now();
        // keep a reference until here: otherwise the signal may be collected before it aborts
        request.signal.removeEventListener("abort", leave);
        timeline.after(delay(), () => {
          runOutside(() => hangUp.abort());
          arrived = undefined;
        });
      };
      const leave = () => {
        end();
        reject(request.signal.reason);
        // a response that is being read ends with the same error
        fail(request.signal.reason);
      };
      const loseConnection = (error: TypeError) => {
        if (!open.has(exchange)) return;
        log(`${label}: ${error.message}`);
        exchange.error = (error.cause as { code: string }).code;
        exchange.isLeft = page.state === "gone";
        end();
        fail(error);
      };
      open.set(exchange, loseConnection);
      if (request.signal.aborted) return leave();
      request.signal.addEventListener("abort", leave);
      timeline.after(delay(), () => runOutside(send));

      async function send(): Promise<void> {
        if (!open.has(exchange)) return;
        if (!page.isOnline || network.isDown || fault === "refused") return loseConnection(createRefusal());
        if (fault === "lost") return;
        exchange.hasArrived = true;
        arrived = new Request(url, { method, headers, body: body ?? null, signal: hangUp.signal });
        const response = await serve(arrived, exchange).catch((error) => {
          log(`${label}: the server fails: ${error}`);
          return reset();
        });
        exchange.hasResponse = !(response instanceof Error);
        if (fault === "reset" || response instanceof Error) return loseConnection(reset());
        if (fault === "silent") return;
        timeline.after(delay(), () => receive(response));
      }

      function receive(response: Response): void {
        if (!open.has(exchange)) return;
        const { status, headers } = response;
        page.deliver(() => {
          exchange.status = status;
          log(`${label}: ${status}`);
          const body = response.body && relay(response.body);
          if (!body) end();
          resolve(new Response(body, { status, headers }));
        });
      }

      /** Passes the server's body on, piece by piece as the page reads it. */
      function relay(source: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
        const reader = source.getReader();
        let passed = 0;
        let isCancelled = false;

        return new ReadableStream(
          {
            start(controller) {
              fail = (error) => page.deliver(() => controller.error(error));
              // lost while the page was frozen: it finds the headers first
              if (!open.has(exchange)) controller.error(reset());
            },
            pull(controller) {
              return new Promise((done) => {
                const pass = (act: () => void) =>
                  timeline.after(delay(), () => {
                    // a frozen page gets the piece later, and may have disconnected before
                    if (open.has(exchange)) page.deliver(() => isCancelled || act());
                    page.deliver(done);
                  });
                if (passed++ === pieces && fault === "stalled") return;
                if (passed > pieces && fault === "broken") return void pass(() => loseConnection(reset()));
                const isCut = passed > pieces && fault === "cut";
                runOutside(() => reader.read()).then(
                  ({ done: isOver, value }) =>
                    pass(() => {
                      exchange.isWhole = isOver;
                      if (isOver) log(`${label}: ends`);
                      // cut at any byte
                      const bytes = isCut ? value?.slice(0, value.length >> 1) : value;
                      if (bytes) exchange.received += decoder.decode(bytes);
                      if (bytes) controller.enqueue(bytes);
                      if (!isOver && !isCut) return;
                      end();
                      controller.close();
                    }),
                  () => pass(() => loseConnection(reset())),
                );
              });
            },
            cancel() {
              isCancelled = true;
              end();
            },
          },
          { highWaterMark: 0 },
        );
      }
    });
  }
}

const decoder = new TextDecoder();

async function readBody(request: Request): Promise<string | undefined> {
  return request.method === "GET" ? undefined : (await request.text()) || undefined;
}

function createRefusal(): TypeError {
  return new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
}

function reset(): TypeError {
  return new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
}
