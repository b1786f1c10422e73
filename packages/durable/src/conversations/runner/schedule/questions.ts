import { SERVER } from "../records.js";
import type { OpenTurn } from "../rows.js";
import type { Schedule, ScheduleStart } from "./shape.js";

/** A start that does not happen, and the reason. */
export type Failed = ScheduleStart & { readonly code: string };

const WORDS: Readonly<Record<string, string>> = {
  schedule_missed: "this was scheduled, and its time was missed",
  not_permitted: "this was scheduled, and is not permitted any more",
  space_exceeded: "this was scheduled, and there is no space for it",
};
const OTHER = "this was scheduled, and could not be started";

/** Makes the record of the question that a start writes. Its id is that of the turn: the same time starts once. */
export function questionOf(schedule: Schedule, dueAt: number, parent: string | null) {
  const id = `${schedule.id}.${dueAt}`;
  const message = { id, role: "user", ...contentOf(schedule), createdAt: Date.now() };
  return { message, parent, revision: 0, by: SERVER };
}

/** Makes the record of a question that was not started. */
export function failedQuestion(schedule: Schedule, { at, code }: Failed, parent: string | null) {
  const { message, ...question } = questionOf(schedule, at, parent);
  const error = { name: "GatewayError", message: WORDS[code] ?? OTHER, code, outcome: "not-sent" };
  return { ...question, message: { ...message, error } };
}

function contentOf(schedule: Schedule) {
  if ("message" in schedule) return schedule.message;
  return { content: ("image" in schedule ? schedule.image : schedule.video).prompt };
}

/** Returns what the turn makes instead of asking the model of the runner. */
export function madeOf(schedule: Schedule): Pick<OpenTurn, "made"> {
  if ("image" in schedule) return { made: { kind: "image", ...schedule.image } };
  return "video" in schedule ? { made: { kind: "video", ...schedule.video } } : {};
}
