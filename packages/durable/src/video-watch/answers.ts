import { Refusal } from "@sluice/worker-proxy/internal";
import type { Next } from "../objects/readers.js";
import { endStateOf, type WatchedTask } from "./task.js";
import type { FailedAnswer } from "./task-query.js";

/** Returns what a watch keeps of its user. */
export function exportedTask(task: WatchedTask) {
  const { id, userId, created, isRemoved = false, startedAt, envelope, end } = task;
  return {
    id: created?.sentId ?? id,
    gatewayId: id,
    user: created?.userId ?? userId,
    model: created?.model,
    requestId: created?.requestId,
    startedAt,
    isRemoved,
    ...(end && { state: endStateOf(task, end), endedAt: end.at }),
    task: envelope === undefined ? null : (JSON.parse(envelope) as unknown),
  };
}

/** Returns an envelope with the task's id as the client has it. */
export function named({ id }: WatchedTask, envelope: string, sentId: string): string {
  return JSON.stringify(JSON.parse(envelope), (_, value) => (value === id ? sentId : value));
}

/** Makes the refusal of a poll that failed, as the gateway or the proxy worded it. */
export function refusalIn({ status, error }: FailedAnswer): Refusal {
  const { error: said } = JSON.parse(error) as { error: Record<string, string> };
  return new Refusal("said", { said: { ...said, status } });
}

/** Returns the newest answer as an event, with the task's id as the client has it. */
function newsOf(task: WatchedTask, sentId: string): string {
  if (task.envelope === undefined) return "";
  return `id: ${task.seq}\nevent: task\ndata: ${named(task, task.envelope, sentId)}\n\n`;
}

/** Returns the last event of a stream; one that stops without it was cut. */
function endOf({ end }: WatchedTask): string {
  if (!end) return "";
  return end.error === undefined ? "event: end\ndata: {}\n\n" : `event: error\ndata: ${end.error}\n\n`;
}

/** Makes a function that gives one reader each new answer once, with the task's id as the client has it. */
export function newsFor(
  watch: { readonly task: WatchedTask | undefined },
  sentId: string,
  lastEventId: string | null,
): () => Next {
  let seen = lastEventId;
  let text = ":\n\n"; // makes the headers leave at once, even if there is no answer yet
  let isOver = false;
  return () => {
    const { task } = watch;
    if (isOver || !task) return "end";
    if (seen !== String(task.seq)) text += newsOf(task, sentId);
    seen = String(task.seq);
    text += endOf(task);
    isOver = task.end !== undefined;
    if (text === "") return "wait";
    const bytes = new TextEncoder().encode(text);
    text = "";
    return bytes;
  };
}
