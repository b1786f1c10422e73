import type { PluginServer } from "@sluice/worker-proxy/plugin";
import {
  checkType,
  containsKey,
  describeRefusal,
  formatError,
  logCause,
  openCall,
  parseJSON,
  Refusal,
  readRefusal,
  readText,
  sendRequest,
  toRefusal,
} from "@sluice/worker-proxy/plugin";
import { ENDED_WITHOUT_STATE, MAX_ENVELOPE_CHARACTERS, type PollResult, readTask } from "./task-response.js";

/** Timeout for the headers of a response, and for each piece of its body, in milliseconds. */
const STEP_MS = 30_000;
/** Timeout of one poll, in milliseconds. */
const POLL_MS = 60_000;

/**
 * A poll without a readable response: it shows no task, is too large, is not JSON, reports a failed query with HTTP 200,
 * or was lost with its process.
 */
export const UNREADABLE: PollResult = { type: "failed", retryAfterMs: 0, ...ENDED_WITHOUT_STATE.unreadable };

/** Queries the gateway for a task once. Returns a failed poll as a result. */
export async function queryTask<Env>(
  { connect, log }: Pick<PluginServer<Env>, "connect" | "log">,
  id: string,
  env: Env,
): Promise<PollResult> {
  const call = openCall(new AbortController().signal, POLL_MS);
  try {
    const gateway = { ...(await connect(env)), headersMs: STEP_MS };
    const path = `/v1/video/generations/${id}`;
    const response = await sendRequest(gateway, { method: "GET", path }, { call });
    if (!response.ok) throw await readRefusal({ response, call }, gateway.apiKeys, STEP_MS);
    checkType(response, false);
    const text = await readText({ response, call }, MAX_ENVELOPE_CHARACTERS, STEP_MS);
    if (containsKey(text, gateway.apiKeys)) throw new Refusal("upstream_type");
    const task = readTask(parseJSON(text));
    return task ? { type: "task", ...task } : UNREADABLE;
  } catch (error) {
    const refusal = toRefusal(error);
    const { status, code } = describeRefusal(refusal);
    if (status >= 500) await logCause(`videoWatch: ${status} ${code}`, error, { env, log });
    return readFailure(refusal);
  } finally {
    call.close();
  }
}

function readFailure(refusal: Refusal): PollResult {
  const { status, code } = describeRefusal(refusal);
  // an unexpected content type says nothing about the task, whatever the status
  if (code === "upstream_type") return UNREADABLE;
  if (status === 404) return { type: "absent", retryAfterMs: 0, ...ENDED_WITHOUT_STATE.absent };
  return { type: "failed", status, error: formatError(refusal), retryAfterMs: readRetryAfter(refusal) };
}

/**
 * Returns the `retry-after` of a refusal (seconds or a date) in milliseconds from now; 0 if it is missing or invalid.
 */
function readRetryAfter({ details }: Refusal): number {
  const value = details.headers?.["retry-after"] ?? "";
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Math.max(0, ms) || 0;
}
