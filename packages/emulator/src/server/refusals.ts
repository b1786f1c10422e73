import type { Exchange } from "./exchange.js";
import { hash } from "./hash.js";
import { type Answer, rateLimited, serverError } from "./http.js";
import type { Scenes } from "./scenes.js";

/**
 * Notes the scenes of a request in its record, and answers it if they ask for a refusal; undefined lets it pass. Refusals
 * are counted for each path and body.
 */
export type Refuse = (scenes: Scenes, exchange: Exchange) => Answer | undefined;

const MOST = 1000;

/** Counts the refusals of each body, for the last 1,000 bodies. */
export function createRefusals() {
  const counts = new Map<string, number>();
  return { refuse, clear: () => counts.clear() };

  function refuse({ refusal, names }: Scenes, { record, text }: Exchange): Answer | undefined {
    record.scenes = [...names];
    if (!refusal) return undefined;
    const key = hash(`${record.path} ${text}`);
    const already = counts.get(key) ?? 0;
    if (already >= refusal.times) return undefined;
    counts.delete(key);
    counts.set(key, already + 1);
    for (const oldest of counts.keys()) {
      if (counts.size <= MOST) break;
      counts.delete(oldest);
    }
    return refusal.status === 429 ? rateLimited(1) : serverError();
  }
}
