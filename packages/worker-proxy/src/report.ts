import type { ProxyContext } from "./admitted.js";
import type { ProxyEvent } from "./events.js";
import type { Settings } from "./settings.js";

/** What is known of a request, as far as it has come through the gates. */
export interface Report {
  readonly known: { -readonly [Key in keyof ProxyEvent]?: ProxyEvent[Key] } & { requestId: string };
  /** Notes how long it took to here from the last note, for `Server-Timing`. */
  lap(name: string): void;
  /** What `Server-Timing` says, in milliseconds. */
  timing(): string;
  /** Tells `onEvent`, once. */
  end(status: number, code?: string): void;
}

/** Begins the report of a request. */
export function openReport<Env>(
  { onEvent }: Settings<Env>,
  { method }: Request,
  env: Env,
  context: ProxyContext | undefined,
): Report {
  const startedAt = Date.now();
  const known: Report["known"] = { requestId: crypto.randomUUID() };
  const laps: string[] = [];
  let lastAt = startedAt;
  let isTold = false;
  return {
    known,
    lap(name) {
      const now = Date.now();
      laps.push(`${name};dur=${now - lastAt}`);
      lastAt = now;
    },
    timing: () => laps.join(", "),
    end(status, code) {
      if (isTold) return;
      isTold = true;
      const event = { ...known, method, status, ms: Date.now() - startedAt, ...(code && { code }) };
      tell(event).catch(() => {});
    },
  };

  /** Async, because a log may be: on some hosts a promise that nobody hears of ends the process. */
  async function tell(event: ProxyEvent): Promise<void> {
    await onEvent?.(event, env, context);
  }
}
