import type { Host, ProxyPlugin } from "@sluice/worker-proxy";
import type { BoundHost, Operation } from "@sluice/worker-proxy/plugin";
import { getCurrentPage, type Page } from "./page.js";
import type { Timeline } from "./timeline.js";

/** A call that reserves an amount, or settles it. */
export interface LedgerCall {
  readonly action: "reserve" | "settle";
  /** The reservation. */
  readonly id: string;
  /** The key of the host: the user, or all users. */
  readonly key: string;
  readonly amount: number;
  /** The page or process that called. */
  readonly page: Page;
  /** The work that it is a part of. */
  readonly purpose: string;
  readonly at: number;
  /** True once the caller knows that it is done. */
  hasResponse: boolean;
  /** True where nothing was left. */
  isRefused: boolean;
}

/** Fields of the operations that reserve or settle. */
interface Steps {
  readonly id: string;
  readonly amount?: number;
  readonly spent?: number;
  readonly plan?: { readonly id: string; readonly amount: number; readonly own: object | null } | null;
  readonly settlement?: { readonly id: string; readonly spent: number } | null;
}

/** Operations that are watched. The package has some of them once, for all simulations. */
const watched = new WeakSet<object>();
/** Notes an operation in the ledger of the latest simulation. They run one after the other. */
let noteStep: (key: string, name: string, input: Steps, output: unknown) => void = () => {};

/** Notes the calls of the budget on a host. */
export function createLedger(timeline: Timeline) {
  const calls: LedgerCall[] = [];
  noteStep = noteOwn;
  return { calls, watch, watchPlugins };

  /** Notes what the plugins reserve and settle in the object of a key, without a call of its host. */
  function watchPlugins<Env>(plugins: readonly ProxyPlugin<Env>[]): readonly ProxyPlugin<Env>[] {
    const operations = plugins.flatMap(({ storage }) => storage?.operations ?? []);
    for (const operation of operations as readonly Operation<never, unknown>[]) {
      if (watched.has(operation)) continue;
      watched.add(operation);
      const { name, run } = operation;
      const runAndNote: typeof run = async (transaction, input) => {
        const output = await run(transaction, input);
        noteStep(transaction.key, name, input, output);
        return output;
      };
      Object.assign(operation, { run: runAndNote });
    }
    return plugins;
  }

  function noteOwn(
    key: string,
    name: string,
    { id, amount, spent, plan, settlement }: Steps,
    output: unknown,
  ) {
    const purpose = getCurrentPage()?.name ?? "";
    const isClaimed = (output as { readonly result?: string } | null)?.result === "claimed";
    if (plan?.own && isClaimed) note(key, "budget.reserve", plan, purpose);
    if (settlement) note(key, "budget.settle", settlement, purpose);
    note(key, name, { id, amount, spent }, purpose);
  }

  /** Wraps the host, to record its calls. */
  function watch<Env extends { readonly purpose: string }>(host: Host<Env>): Host<Env> {
    const openHost = host.open;
    // return the same host object: the class of Durable Objects belongs to it
    return Object.assign(host, {
      open(setup: Parameters<typeof openHost>[0]) {
        const open = openHost(setup);
        return (env: Env): BoundHost => {
          const bound = open(env);
          const run = async (key: string, operation: { readonly name: string }, input: object) => {
            const call = note(key, operation.name, input, env.purpose);
            const output = await bound.run(key, operation as never, input as never);
            if (call) call.hasResponse = true;
            if (call) call.isRefused = (output as { refused?: number } | null)?.refused !== undefined;
            return output;
          };
          return {
            run: run as BoundHost["run"],
            start: bound.start.bind(bound),
            open: bound.open.bind(bound),
          };
        };
      },
    });
  }

  function note(key: string, name: string, input: object, purpose: string): LedgerCall | undefined {
    const action = name === "budget.reserve" ? "reserve" : name === "budget.settle" ? "settle" : undefined;
    if (!action) return undefined;
    const { id, amount, spent } = input as { id: string; amount?: number; spent?: number };
    const call: LedgerCall = {
      action,
      id,
      key,
      amount: amount ?? spent ?? 0,
      page: getCurrentPage() as Page,
      purpose,
      at: timeline.now(),
      hasResponse: false,
      isRefused: false,
    };
    calls.push(call);
    return call;
  }
}
