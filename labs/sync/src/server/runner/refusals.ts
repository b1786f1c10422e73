import { type RefusalTable, refusalsOf } from "@sluice/durable/internal";

/** The refusals of turns: status, message, and the code where that is not the name. */
const refusals = {
  turn_invalid: [400, "{what}", "invalid_request"],
  turn_in_progress: [409, "an answer is under way on the server: wait for it, or stop it"],
  message_unknown: [409, "parent: this message is not here yet; send its record first"],
  turn_not_kept: [507, "the message could not be kept ({what}); nothing was sent"],
} as const satisfies RefusalTable;

/** Makes a refusal of a turn. */
export const turnRefusal = refusalsOf(refusals);
