import { describeRefusal, Refusal, type RefusalDetails } from "@sluice/worker-proxy/plugin";
import type { ResponseHead, StoredRefusal } from "./states.js";

/** Refusals of jobs: status, message, and the code if it is not the name. */
const refusals = {
  stream_not_found: [404, "there is no stream with this id, or not any more", "not_found"],
  stream_stopped: [499, "the stream was stopped"],
  stream_interrupted: [502, "the rest of this answer is lost; ask again"],
  idempotency_key_invalid: [400, "idempotency-key: send 1 to 255 visible ASCII characters"],
  idempotency_mismatch: [422, "this idempotency-key was used for another request; use a new one"],
  user_erased: [410, "what this user had here was erased; the request was given up"],
  request_lost: [502, "nobody knows how this request ended; it is not sent again with this idempotency-key"],
  answer_not_kept: [502, "the answer was too large to be kept; this idempotency-key sends nothing again"],
  event_id_invalid: [400, "last-event-id: send the id of an event of this stream", "invalid_request"],
  too_many_readers: [429, "this is open in {what} places already; close one, or try again later"],
  job_unavailable: [503, "this request can't be stored now; try again", "extension_unavailable"],
} as const satisfies Record<string, readonly [status: number, message: string, code?: string]>;

/** Makes a refusal of a job. */
export function jobRefusal(reason: keyof typeof refusals, details: RefusalDetails = {}): Refusal {
  const [status, message, code = reason]: readonly [number, string, string?] = refusals[reason];
  const text = message.replace("{what}", () => String(details.what));
  return new Refusal("said", { ...details, said: { status, code, message: text } });
}

/** Returns a refusal as it is stored. Its cause is in the log alone. */
export function storeRefusal(refusal: Refusal): StoredRefusal {
  const { status, code, message, type } = describeRefusal(refusal);
  const { param, budget, headers } = refusal.details;
  return { status, code, message, type, param, budget, headers };
}

/** Returns a refusal that was stored. */
export function restoreRefusal({ param, budget, headers, ...said }: StoredRefusal): Refusal {
  return new Refusal("said", { said, param, budget, ...(headers && { headers }) });
}

/** Returns the head of a response that is a refusal. */
export function headOf(refusal: Refusal): ResponseHead {
  const { status } = describeRefusal(refusal);
  return { status, headers: {}, type: "application/json", refusal: storeRefusal(refusal) };
}
