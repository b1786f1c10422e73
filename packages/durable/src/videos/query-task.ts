import { openGatewayCall, type PluginServer, Refusal } from "@sluice/worker-proxy/plugin";
import { ENDED_WITHOUT_STATE, MAX_ENVELOPE_CHARACTERS, type PollResult, parseTask } from "./task-response.js";

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
export async function queryTask<Env>(server: PluginServer<Env>, id: string, env: Env): Promise<PollResult> {
  const timeout = { firstChunkMs: STEP_MS, chunkMs: STEP_MS, totalMs: POLL_MS };
  const call = openGatewayCall(server, env, timeout);
  try {
    await call.send({ method: "GET", path: `/v1/video/generations/${id}` });
    const { text, json } = await call.readJSON(MAX_ENVELOPE_CHARACTERS);
    if (text === undefined) throw new Refusal("upstream_type");
    const task = parseTask(json);
    return task ? { type: "task", ...task } : UNREADABLE;
  } catch (error) {
    const refusal = Refusal.from(error);
    const { status, code } = refusal;
    if (status >= 500) await server.log(`videoWatch: ${status} ${code}`, error, { env });
    return readFailure(refusal);
  } finally {
    call.close();
  }
}

function readFailure(refusal: Refusal): PollResult {
  const { status, code } = refusal;
  // an unexpected content type says nothing about the task, whatever the status
  if (code === "upstream_type") return UNREADABLE;
  if (status === 404) return { type: "absent", retryAfterMs: 0, ...ENDED_WITHOUT_STATE.absent };
  return { type: "failed", status, error: JSON.stringify(refusal), retryAfterMs: readRetryAfter(refusal) };
}

/**
 * Returns the `retry-after` of a refusal (seconds or a date) in milliseconds from now; 0 if it is missing or invalid.
 */
function readRetryAfter({ details }: Refusal): number {
  const value = details.headers?.["retry-after"] ?? "";
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Math.max(0, ms) || 0;
}
