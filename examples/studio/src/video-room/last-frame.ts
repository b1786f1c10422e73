import type { SucceededVideoTask } from "@sluice/core";

/**
 * The link of the frame that the video ends with, where one was asked for. The gateway's specification shows no field
 * for it: this is where one may be, and it is there only until the page is left, as answers are not kept word for word.
 */
export function lastFrameOf({ raw }: SucceededVideoTask): string | undefined {
  const task = within(raw, "data") ?? raw;
  const found = [task, within(task, "data")].map((one) => within(within(one, "content"), "last_frame_url"));
  return found.find((one): one is string => typeof one === "string" && /^https?:/.test(one));
}

function within(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
