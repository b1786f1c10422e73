import type { ThreadTurn } from "@sluice/core";
import { explain } from "./explain.js";

/** Why a message was not sent, in a person's words. */
export type Reason = string;

/** Says why a turn did not come to be; undefined where a person stopped it. */
export function reasonOf({ outcome, error }: ThreadTurn): Reason | undefined {
  if (outcome === "stopped") return undefined;
  const { what, todo } = explain(error);
  return `${what} ${todo}`;
}

/** Stands by the text that came back. */
export function NotSent({ reason }: { reason: Reason }) {
  return (
    <p className="not-sent" role="alert">
      <strong>Not sent.</strong> {reason}
    </p>
  );
}
