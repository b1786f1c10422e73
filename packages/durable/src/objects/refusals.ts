import { type Details, Refusal } from "@sluice/worker-proxy/internal";

/** The refusals of the stream log, of `once` and of the video watch: status, message, and the code where that is not the name. */
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
  task_unknown: [404, "the gateway does not know this task", "task_not_found"],
  upstream_unreadable: [502, "the gateway's answers show no task; ask it yourself"],
  watch_timeout: [504, "the task was not over after 24 hours"],
} as const satisfies RefusalTable;

/** Makes a refusal of an object's own. */
export const objectRefusal = refusalsOf(refusals);

/** Refusals by name: status, message with `{what}` in it, and the code where that is not the name. */
export type RefusalTable = Readonly<
  Record<string, readonly [status: number, message: string, code?: string]>
>;

/** Returns the function that makes the refusals of a table. */
export function refusalsOf<Table extends RefusalTable>(
  table: Table,
): (reason: keyof Table & string, details?: Details) => Refusal {
  return (reason, details = {}) => {
    const [status, message, code = reason]: RefusalTable[string] = table[reason] as RefusalTable[string];
    const text = message.replace("{what}", () => String(details.what));
    return new Refusal("said", { ...details, said: { status, code, message: text } });
  };
}
