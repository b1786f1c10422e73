import { describeError } from "@sluice/react";
import type { CallRecord } from "./recording.js";
import { isPaidPath, type TappedRequest } from "./tap.js";
import { counted } from "./texts.js";

/** Account of one call, by its requests as they passed the tap. */
export interface Bill {
  /** Number of requests that left the page. */
  readonly sent: number;
  /** Number of answers that the gateway has billed: it began them with a success. */
  readonly billed: number;
  /** Number of requests of which nobody here knows if they are billed. */
  readonly unknown: number;
  /** True if the server was asked again under one key, and has said that it bills such a key once. */
  readonly isOnce: boolean;
}

/** Counts what a call costs at least and at most. Queries cost nothing. */
export function billOf({ requests }: Pick<CallRecord, "requests">): Bill {
  const left = requests.filter(({ hasLeft }) => hasLeft);
  const costs = left.map(costOf);
  const keys = left.filter(({ isPaid }) => isPaid).map(({ key, isOnce }) => (isOnce ? key : undefined));
  const isOnce = keys.length > 1 && keys[0] !== undefined && new Set(keys).size === 1;
  const billed = costs.filter((cost) => cost === "billed").length;
  const unknown = costs.filter((cost) => cost === "unknown").length;
  if (!isOnce) return { sent: left.length, billed, unknown, isOnce };
  return {
    sent: left.length,
    billed: Math.min(billed, 1),
    unknown: billed ? 0 : Math.min(unknown, 1),
    isOnce,
  };
}

/** Decides by the status, as the gateway's description does: below 500, and not 408, it has refused. */
function costOf({ isPaid, status }: TappedRequest): "free" | "billed" | "unknown" {
  if (!isPaid) return "free";
  if (status === undefined || status >= 500 || status === 408) return "unknown";
  return status < 300 ? "billed" : "free";
}

/** Says in one sentence what was paid. */
export function billText({ sent, billed, unknown, isOnce }: Bill): string {
  const left = `${sent === 0 ? "Nothing" : counted(sent, "request")} left the page`;
  const once = isOnce ? " under one key, which the proxy bills once" : "";
  const counts = [billed && `${billed} billed`, unknown && `${unknown} may be billed`].filter(Boolean);
  return `${left}${once}: ${counts.join(", ") || "nothing billed"}`;
}

/** Says what the app itself knows of the bill, from the end of the call. */
export function knownText({ end, path }: Pick<CallRecord, "end" | "path">): string {
  if (!end) return "in flight";
  if (!isPaidPath(path)) return "free";
  if (end.outcome === "stopped") return "may be billed";
  if (end.error === undefined) return "billed";
  return describeError(end.error).billing === "maybe" ? "may be billed" : "not billed";
}
