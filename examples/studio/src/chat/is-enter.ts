import type { KeyboardEvent } from "react";

/** Whether a key press means "done": Enter, but not with Shift, which starts a line. */
export function isEnter(event: KeyboardEvent): boolean {
  // Enter that picks a candidate of an input method is no Enter; Safari says so with 229 alone
  const isPicking = event.nativeEvent.isComposing || event.keyCode === 229;
  return event.key === "Enter" && !event.shiftKey && !isPicking;
}
