import type { LedgerCall } from "./ledger.js";
import type { Exchange } from "./network.js";
import { BEGINNING } from "./platform.js";
import { computeMax, WINDOW_MS } from "./proxy.js";
import type { Simulation } from "./simulation.js";

/** One reservation, and the request that it was made for. */
interface Account {
  readonly id: string;
  readonly reserve: LedgerCall;
  readonly amount: number;
  /** Calls that settle it: one for each key, and again where one failed. */
  readonly settles: readonly LedgerCall[];
  /** The request to the gateway. */
  sent?: Exchange;
}

/** Maximum duration of a reservation, in milliseconds. */
const RESERVE_MS = 5000;
/** Statuses of a wait that ended before the work did. */
const MAY_HAVE_WORKED = [408, 504, 520, 524];
const TOTAL = '"total_tokens":';
const WINDOWS = "SELECT spent, reserved, resets_at FROM budget_windows WHERE name = 'user'";

/** No user spends more than the budget of a window. */
export function findBrokenMoneyRule({ proxy, budget }: Simulation): string | undefined {
  for (const { storage } of proxy?.objects.storages() ?? [])
    for (const { spent, reserved } of storage.readRows(WINDOWS))
      if (Number(spent) + Number(reserved) > budget)
        return `${spent} tokens are spent and ${reserved} reserved, of ${budget}`;
  return undefined;
}

/** Checks that the proxy charges the gateway's count, and sends no request without a reservation. */
export function findBrokenMoneyRuleAtRest(
  simulation: Pick<Simulation, "proxy" | "timeline">,
): string | undefined {
  if (!simulation.proxy) return undefined;
  const { accounts, unpaid } = readAccounts(simulation.proxy);
  if (unpaid) return `${unpaid.method} ${unpaid.path} was sent without a reservation`;
  for (const account of accounts) {
    const broken = findWrongCharge(account);
    if (broken) return broken;
  }
  return (
    findWrongLedger(simulation.proxy, accounts, BEGINNING + simulation.timeline.now()) ??
    findUnusedReservation(simulation.proxy, accounts)
  );
}

type Proxy = NonNullable<Simulation["proxy"]>;

function readAccounts({ ledger, upstream }: Proxy) {
  const accounts = new Map<string, Account>();
  for (const call of ledger)
    if (call.action === "reserve" && !accounts.has(call.id))
      accounts.set(call.id, {
        id: call.id,
        amount: call.amount,
        reserve: call,
        settles: ledger.filter(({ action, id }) => action === "settle" && id === call.id),
      });
  let unpaid: Exchange | undefined;
  for (const exchange of upstream.exchanges) {
    if (exchange.method !== "POST" || exchange.path.endsWith("/GetAsset")) continue;
    // one object sends several requests of its user: match them by amount, then by the time at which they end
    const amount = computeMax(exchange.path, exchange.body ?? "");
    const endedAt = exchange.endedAt ?? exchange.at;
    const distance = ({ settles }: Account) => Math.abs((settles[0]?.at ?? 0) - endedAt);
    const [account] = [...accounts.values()]
      .filter(
        ({ reserve, settles, sent }) =>
          !sent &&
          !settles.some(({ at }) => at < exchange.at) &&
          reserve.amount === amount &&
          reserve.purpose === exchange.purpose &&
          reserve.at <= exchange.at,
      )
      .sort((one, other) => distance(one) - distance(other));
    if (account) account.sent = exchange;
    else unpaid ??= exchange;
  }
  return { accounts: [...accounts.values()], unpaid };
}

function findWrongCharge({ id, reserve, amount, settles, sent }: Account): string | undefined {
  const [charged, ...others] = new Set(settles.map((settle) => settle.amount));
  const what = `${sent?.method ?? "a request"} ${sent?.path ?? "that was not sent"} (${id})`;
  // the next process of a lost object can't know that the reservation is settled; the ledger accepts the first amount
  const isForgotten = settles[0]?.page.state === "gone";
  if (others.length > 0 && !isForgotten) return `${what} was settled with ${charged}, and with ${others}`;
  // with its process the settlement is lost, and the reservation stays
  if (charged === undefined) return reserve.page.state === "gone" ? undefined : `${what} was never settled`;
  const right = computeRightCharges(sent, amount);
  return right.includes(charged) ? undefined : `${what} was charged ${charged} instead of ${right}`;
}

/** Correct charges for the outcome of a request. Several if the proxy may know less than the simulation. */
function computeRightCharges(sent: Exchange | undefined, reserved: number): readonly number[] {
  if (!sent) return [0];
  const { status, error, received, isWhole, isLeft } = sent;
  // the next process knows that the request was sent, but not its result
  if (isLeft && status !== 200) return [reserved];
  if (status === undefined) return [error === "ECONNREFUSED" ? 0 : reserved];
  if (status !== 200) return [MAY_HAVE_WORKED.includes(status) ? reserved : 0];
  const usage = readUsage(received);
  if (usage === undefined) return [reserved];
  if (!received.includes("data: ")) return [isWhole ? usage : reserved];
  if (!/"finish_reason":"/.test(received)) return [reserved];
  return isWhole ? [usage] : [usage, reserved];
}

/** Reads the tokens that the gateway counted, from the end of its response. */
function readUsage(text: string): number | undefined {
  const at = text.lastIndexOf(TOTAL);
  return at === -1 ? undefined : Number.parseInt(text.slice(at + TOTAL.length), 10);
}

/** The budget of the user has each settlement that it has confirmed, exactly once. */
function findWrongLedger({ objects }: Proxy, accounts: readonly Account[], now: number): string | undefined {
  const windowAt = now - (now % WINDOW_MS);
  const isInWindow = (ms: number) => BEGINNING + ms >= windowAt;
  // a reservation at the end of a window may count in either window
  if (accounts.some(({ reserve: { at } }) => isInWindow(at) !== isInWindow(at + RESERVE_MS)))
    return undefined;
  for (const { name, storage } of objects.storages()) {
    const [row] = storage.readRows(`${WINDOWS} AND resets_at > ${now}`);
    if (!row) continue;
    const settled = accounts.flatMap(({ reserve, settles }) => {
      const own = settles.filter(({ key }) => key === name);
      const settle = own.find(({ hasResponse }) => hasResponse) ?? own[0];
      return settle && isInWindow(reserve.at) ? settle : [];
    });
    const sumCalls = (calls: typeof settled) => calls.reduce((total, { amount }) => total + amount, 0);
    const sum = sumCalls(settled.filter(({ hasResponse }) => hasResponse));
    // a call may have succeeded although its process was lost before the response
    const max = sumCalls(settled);
    const spent = Number(row["spent"]);
    if (spent < sum || spent > max) return `a budget has ${spent} spent, and confirmed ${sum}`;
  }
  return undefined;
}

/** Checks that no amount stays reserved at rest, except amounts of a lost process or of a failed settlement. */
function findUnusedReservation({ objects }: Proxy, accounts: readonly Account[]): string | undefined {
  for (const { name, storage } of objects.storages()) {
    const held = storage.readRows("SELECT id FROM budget_reservations");
    for (const { reserve, id, settles } of accounts) {
      const isKnown = reserve.page.state === "gone" || settles.some(({ key }) => key === name);
      if (!isKnown && held.some((row) => row["id"] === id)) return `${id} is reserved for ever`;
    }
  }
  return undefined;
}
