import type { RequestOptions } from "@sluice/core";

/** Options that the tools for images and films share. */
export interface MediaToolOptions {
  /** Name by which the model calls the tool: 1 to 64 letters, digits, `_` and `-`. */
  readonly name?: string;
  /** Explanation for the model: what the tool does and when to call it. */
  readonly description?: string;
  /**
   * True if the user has to approve a call first, as of `defineTool`: each call is billed. A function gets the arguments
   * as the model wrote them.
   *
   * @default false
   */
  readonly needsApproval?: boolean | ((input: unknown) => boolean | Promise<boolean>);
  /** Headers, timeouts and retry of the requests. */
  readonly request?: Omit<RequestOptions, "signal" | "idempotencyKey">;
}

/** Makes the JSON Schema of arguments: each has a description, and is left out where the app sets it. */
export function argumentsOf(
  fields: Readonly<Record<string, object | undefined>>,
  set: object,
): Record<string, unknown> {
  const known = Object.entries(fields).filter(([name, field]) => field && !(name in set));
  return {
    type: "object",
    properties: Object.fromEntries(known),
    required: ["prompt"],
    additionalProperties: false,
  };
}
