import { isCreatePath } from "@sluice/core/extend";
import { describeError } from "@sluice/react";
import type { CallRecord } from "./recording.js";
import type { TappedRequest } from "./tap.js";
import { formatCount } from "./texts.js";

/** Bill of one call, computed from its requests. */
export interface Bill {
  /** Number of requests that were sent. */
  readonly sent: number;
  /** Number of responses that the gateway has billed: they began with a success status. */
  readonly billed: number;
  /** Number of requests with unknown billing. */
  readonly unknown: number;
  /** True if the request was retried with the same key, and the server says that it bills a key once. */
  readonly isBilledOnce: boolean;
}

/** Counts the minimum and maximum bill of a call. Queries cost nothing. */
export function computeBill({ requests }: Pick<CallRecord, "requests">): Bill {
  const sent = requests.filter(({ wasSent }) => wasSent);
  const costs = sent.map(classifyCost);
  const keys = sent
    .filter(({ isPaid }) => isPaid)
    .map(({ key, isBilledOnce }) => (isBilledOnce ? key : undefined));
  const isBilledOnce = keys.length > 1 && keys[0] !== undefined && new Set(keys).size === 1;
  const billed = costs.filter((cost) => cost === "billed").length;
  const unknown = costs.filter((cost) => cost === "unknown").length;
  if (!isBilledOnce) return { sent: sent.length, billed, unknown, isBilledOnce };
  return {
    sent: sent.length,
    billed: Math.min(billed, 1),
    unknown: billed ? 0 : Math.min(unknown, 1),
    isBilledOnce,
  };
}

/** Decides by the status, as the gateway's description does: a status below 500, except 408, is a refusal. */
function classifyCost({ isPaid, status }: TappedRequest): "free" | "billed" | "unknown" {
  if (!isPaid) return "free";
  if (status === undefined || status >= 500 || status === 408) return "unknown";
  return status < 300 ? "billed" : "free";
}

/** Describes the bill in one sentence. */
export function describeBill({ sent, billed, unknown, isBilledOnce }: Bill): string {
  const requests = `${sent === 0 ? "Nothing" : formatCount(sent, "request")} left the page`;
  const sharedKey = isBilledOnce ? " under one key, which the proxy bills once" : "";
  const counts = [billed && `${billed} billed`, unknown && `${unknown} may be billed`].filter(Boolean);
  return `${requests}${sharedKey}: ${counts.join(", ") || "nothing billed"}`;
}

/** Describes the bill as the app knows it, from the end of the call. */
export function describeKnownBill({ end, path }: Pick<CallRecord, "end" | "path">): string {
  if (!end) return "in flight";
  if (!isCreatePath(path)) return "free";
  if (end.outcome === "stopped") return "may be billed";
  if (end.error === undefined) return "billed";
  return describeError(end.error).billing === "maybe" ? "may be billed" : "not billed";
}
