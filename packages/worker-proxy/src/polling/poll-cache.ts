import type { ProxyPlugin } from "../api/plugin.js";
import { type Flights, share } from "../base/share.js";
import { checkedType } from "../gateway/answer.js";
import type { Exchange, PollRules } from "../gateway/exchange.js";
import { passedHeadersOf } from "../gateway/key.js";
import { JSON_CHARACTERS, readText, refusalOf } from "../gateway/read-json.js";
import { Refusal } from "../refusals/refusal.js";

/** An answer as text. It holds nothing of the request that read it, which workerd forbids to share. */
interface Finished {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** The end of a poll: an answer, or a refusal that others share. */
type Polled = Finished | Refusal;

/** Time for which an answer serves further polls of its user, in milliseconds. */
const FRESH_MS = 1000;

/**
 * Gives an answer about a task or an asset again to polls of the same user, for a second. Polls at the same time share
 * one request. Each isolate stores up to 1,000 answers.
 *
 * @example
 * ```ts
 * createProxy<Env>({ ...options, routes: ["chat", "videos"], plugins: [pollCache()] });
 * ```
 */
export function pollCache(): ProxyPlugin {
  const flights: Flights<Polled> = new Map();
  const keeping = {
    freshMs: () => FRESH_MS,
    sizeOf: (polled: Polled) => (polled instanceof Refusal ? 0 : polled.text.length),
  };
  return {
    /** @throws {Refusal} the gateway's refusal, which is shared like an answer */
    async pollCache<Env>(exchange: Exchange<Env>, rules: PollRules): Promise<Response> {
      const { admitted, call } = exchange;
      const key = JSON.stringify([admitted.user.id, ...rules.request]);
      const read = () => readPoll(exchange, rules).catch(shareable);
      const polled = await call.wait(() => share(flights, key, keeping, read), "upstream_cut");
      if (polled instanceof Refusal) throw polled;
      // a 204 has no body, not even an empty one
      return new Response(polled.text || null, polled);
    },
  };
}

async function readPoll<Env>({ call }: Exchange<Env>, { send, keys, chunkMs }: PollRules): Promise<Finished> {
  const response = await send();
  if (!response.ok) throw await refusalOf({ response, call }, keys, chunkMs);
  const { type } = checkedType(response, false);
  const text = await readText({ response, call }, JSON_CHARACTERS, chunkMs);
  const headers = { ...passedHeadersOf(response, keys), "content-type": type };
  return { status: response.status, headers, text };
}

/** Returns a refusal as a value that others share; that of a client that left is the client's own. */
function shareable(error: unknown): Refusal {
  if (error instanceof Refusal && !error.reason.startsWith("client_")) return error;
  throw error;
}
