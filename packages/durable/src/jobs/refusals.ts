import type { Refusal } from "@sluice/worker-proxy/plugin";
import { createRefusals } from "../shared/create-refusals.js";
import type { ResponseHead } from "./states.js";

/** Creates a refusal of a job. */
export const jobRefusal = createRefusals({
  stream_not_found: [404, "there is no stream with this id, or not any more", "not_found"],
  stream_stopped: [499, "the stream was stopped"],
  stream_interrupted: [502, "the rest of this response is lost; send the request again"],
  idempotency_key_invalid: [400, "idempotency-key: send 1 to 255 visible ASCII characters"],
  idempotency_mismatch: [422, "this idempotency-key was used for another request; use a new one"],
  too_many_keys: [429, "this user has used {what} idempotency-keys; use a new one later"],
  user_erased: [410, "the data of this user was erased; the request was canceled"],
  request_lost: [502, "the end of this request is unknown; it is not sent again with this idempotency-key"],
  response_not_stored: [502, "the response is not stored any more; this idempotency-key sends nothing again"],
  event_id_invalid: [400, "last-event-id: send the id of an event of this stream", "invalid_request"],
  too_many_readers: [429, "this is open {what} times already; close one, or try again later"],
  job_unavailable: [503, "this request can't be stored now; try again", "plugin_unavailable"],
});

/** Creates the head of a response from a refusal. It omits the cause, which is only in the log. */
export function createRefusalHead({ status, code, message, type, details }: Refusal): ResponseHead {
  const { param, budget, headers } = details;
  const error = { status, code, message, type };
  const refusal = {
    reason: "custom",
    details: { error, param, budget, ...(headers && { headers }) },
  } as const;
  return { status, headers: {}, type: "application/json", refusal };
}
