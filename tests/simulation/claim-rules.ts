import type { Exchange } from "./network.js";
import { isIll, type Simulation } from "./simulation.js";
import type { Tab } from "./tab.js";
import { isRefusal } from "./task-rules.js";

/* Rules about what the client says of money and of results. Each returns the broken rule, if it is. */

const CREATES = /^\/v1\/(?:video|images)\/generations$|\/CreateAsset$/;

/** A claim of the client about the billing of a request, and all connections of the request. */
interface Claim {
  readonly what: string;
  readonly billing: unknown;
  readonly exchanges: readonly Exchange[];
}

/**
 * Nothing that the gateway bills is called refused or unsent, and nothing that it certainly does not bill is said to be
 * unconfirmed: of videos, images and assets, by the ends of their calls, and of images that are stopped by their states.
 */
export function saysWhatIsBilled(simulation: Simulation): string | undefined {
  const billed = listBilled(simulation);
  for (const { what, billing, exchanges } of [
    ...simulation.everOpen.flatMap(listEnds),
    ...listStops(simulation),
  ]) {
    if (billing === "none" && exchanges.some((each) => billed.has(each)))
      return `${what} was billed, and its billing is none`;
    if (billing === "maybe" && exchanges.every(isRefusal))
      return `${what} was refused or never sent, and is shown as uncertain`;
  }
  return undefined;

  /** Claims of the calls that have failed. */
  function listEnds({ page, steps }: Tab): readonly Claim[] {
    const own = simulation.network.exchanges.filter((each) => each.page === page);
    return steps.flatMap(({ event }): readonly Claim[] => {
      if (event.type !== "end" || !CREATES.test(event.path)) return [];
      const times = steps.flatMap(({ at, event: { type, callId } }) =>
        type === "request" && callId === event.callId ? at : [],
      );
      const exchanges = own.filter(({ at, path }) => path === event.path && times.includes(at));
      // two calls at the same moment can't be told apart
      if (exchanges.length !== times.length) return [];
      return [{ what: `${event.path} at ${times} ms`, billing: Object(event.error).billing, exchanges }];
    });
  }
}

/** Lists what the client claims about the billing of stopped images. The second of two clicks was never sent: it is left out. */
function listStops({ settled, network }: Simulation): readonly Claim[] {
  return settled.flatMap(({ page, name, from, to, result }): readonly Claim[] => {
    const { error } = Object(result) as { error?: Error & { readonly billing?: string } };
    if (error?.name !== "AbortError" || error.billing === undefined || !name.startsWith("picture")) return [];
    const exchanges = network.exchanges.filter(
      (each) => each.page === page && each.at >= from && each.at <= to && isFor(each, name),
    );
    return [{ what: `"${name}"`, billing: error.billing, exchanges }];
  });
}

function isFor({ path, body = "{}" }: Exchange, name: string): boolean {
  return path.startsWith("/v1/images") && (JSON.parse(body) as { prompt?: string }).prompt === name;
}

/** Returns the connections of the tabs for which the gateway bills. */
function listBilled({ gateway, proxy }: Simulation): ReadonlySet<Exchange> {
  const billed = gateway.calls.filter(({ isBilled }) => isBilled);
  return new Set(
    billed.flatMap(({ exchange }) =>
      proxy ? (proxy.requests[Number(exchange.purpose.replace("request ", ""))] ?? []) : exchange,
    ),
  );
}

/** One tab's result of a waiting call is accepted. The other tabs get a rejection. */
export function takesResultsOnce({ settled, locks, disk }: Simulation): string | undefined {
  if (locks.mode !== "sound" || isIll(disk.modes) || disk.corrupted.size > 0) return undefined;
  const takers = new Map<string, Tab["page"]>();
  for (const { page, name, result } of settled) {
    const { outcome, messages = [] } = Object(result) as Partial<Taken>;
    const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls);
    // a closed tab may have lost its response
    if (!/^(?:result of|approval of) /.test(name) || outcome === "not-sent" || page.state === "gone")
      continue;
    if (
      !calls.some(({ id }) => name.endsWith(` ${id}`)) ||
      !calls.some(({ state }) => state.startsWith("needs-"))
    )
      continue;
    const taker = takers.get(name);
    if (taker && taker !== page)
      return `${taker.name} and ${page.name} are both told that the ${name} is taken`;
    takers.set(name, page);
  }
  return undefined;
}

interface Taken {
  readonly outcome: string;
  readonly messages: readonly {
    readonly toolCalls?: readonly { readonly id: string; readonly state: string }[];
  }[];
}
