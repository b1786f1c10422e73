import { Refusal } from "@sluice/worker-proxy/internal";

/** The refusals of turns: status and message. */
const refusals = {
  turn_invalid: [400, "{what}"],
  turn_in_progress: [409, "an answer is under way on the server: wait for it, or stop it"],
  message_unknown: [409, "parent: this message is not here yet; send its record first"],
  turn_not_kept: [507, "the message could not be kept ({what}); nothing was sent"],
} as const satisfies Record<string, readonly [status: number, message: string]>;

/** Makes a refusal of a turn. */
export function turnRefusal(reason: keyof typeof refusals, what = ""): Refusal {
  const [status, message] = refusals[reason];
  const code = reason === "turn_invalid" ? "invalid_request" : reason;
  return new Refusal("said", { said: { status, code, message: message.replace("{what}", what) } });
}
